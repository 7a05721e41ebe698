#!/bin/sh
# A search on a Slurm cluster: an array of four tasks, a shard each, that write to a
# folder which all of them see; and a job that merges what they found, whatever
# became of each.
#
#   job=$(sbatch --parsable --array=1-4 slurm.sh)
#   sbatch --dependency=afterany:$job slurm.sh
#
# A task ends with status 1 if a promise broke.
#SBATCH --job-name=replay
#SBATCH --time=4:00:00
#SBATCH --cpus-per-task=2
RECORDS=${RECORDS:-$HOME/records}
mkdir -p "$RECORDS"
if [ -n "$SLURM_ARRAY_TASK_ID" ]; then
  exec replay search --space faulty --bugs --seeds 1M \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --records "$RECORDS/shard-$SLURM_ARRAY_TASK_ID.jsonl"
fi
exec replay merge "$RECORDS"/shard-*.jsonl --out "$RECORDS/all.jsonl"
