// The run, as it stands in the page: see run.go for what is where.
const $ = (id) => document.getElementById(id);
const run = JSON.parse($('run').textContent);
const count = run.at.length;
const at = Float64Array.from(run.at, Number);
const kind = Uint8Array.from(run.kind);
const lane = Int16Array.from(run.lane);
const keyOf = Int32Array.from(run.key);
const clients = run.machines.filter((m) => m[1] === 'client').length;
const laneCount = run.machines.length;
// end is the end of the picture: a lease, and with it a violation, can outlive the run.
const end = Math.max(Number(run.end), count ? at[count - 1] : 0, Number(run.window[1]), ...run.violations.map((v) => Number(v[1] ?? 0)), 1);

// kindOf is the number of a kind, by its word.
const kindOf = Object.fromEntries(run.kinds.map((word, i) => [word, i]));

// Events by what they are about: what can be filtered, in which colour and shape they
// are drawn. A kind that is missing here is a message's.
const groups = [
  ['lock', 'lock: asked, held, released', 'wanted asked granted refused extended unextended releasing released lost fenced'],
  ['messages', 'messages', 'sent executed dropped answered heard gave-up wrote stored'],
  ['faults', 'faults', 'faulted healed holds'],
  ['clock', 'clock readings and sleeps', 'read slept'],
  ['other', 'log lines, begin and end', 'started ended noted over'],
];
const groupOf = new Uint8Array(run.kinds.length).fill(1);
groups.forEach(([, , words], g) => words.split(' ').forEach((w) => { groupOf[kindOf[w]] = g; }));

// instantOf is a number to draw with; what never comes is beyond the end.
const instantOf = (v) => (v === null ? Infinity : Number(v));

const leases = run.leases.map(([client, key, owner, granted, trust, stands, exclusion, nodes], index) => ({
  index, client, key, owner, nodes, exact: { granted, trust, stands, exclusion },
  from: instantOf(granted), trust: instantOf(trust), stands: instantOf(stands), truth: instantOf(exclusion),
}));
const blocks = run.blocks.map(([on, client, key, from, to, ends, granted]) => ({ lane: on, client, key, granted, exact: { from, to }, from: instantOf(from), to: instantOf(to), ends }));
const violations = run.violations.map(([invariant, when, lease, other, text]) => ({ invariant, at: instantOf(when), exact: when, lease, other, text }));
const troubles = run.troubles.map(([on, from, to, what, text]) => ({ lane: on, from: instantOf(from), to: instantOf(to), exact: { from, to }, what, text }));
const keys = [...new Set([...leases.map((l) => l.key), ...Array.from(new Set(keyOf), (k) => run.texts[k]).filter((k) => k)])].sort();

// Messages: the step that sent and the one that it led to, both from 0; -1 for none.
const arrowCount = run.arrows.length / 2;
const arrowFrom = new Int32Array(arrowCount);
const arrowTo = new Int32Array(arrowCount);
for (let i = 0; i < arrowCount; i++) {
  arrowFrom[i] = run.arrows[2 * i] - 1;
  arrowTo[i] = run.arrows[2 * i + 1] - 1;
}

// lower is the first place in sorted numbers that is not below v; index maps places.
function lower(v, index) {
  let low = 0;
  let high = index ? index.length : count;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (at[index ? index[mid] : mid] < v) low = mid + 1;
    else high = mid;
  }
  return low;
}

// ---- what is shown

const shown = new Uint8Array(count).fill(1);
let byLane = [];
const hiddenLanes = new Set();
const hiddenGroups = new Set();
let onlyKey = '';

// sift settles which events are shown, after a filter has changed.
function sift() {
  const lists = Array.from({ length: laneCount }, () => []);
  for (let i = 0; i < count; i++) {
    const key = keyOf[i];
    const show = !(lane[i] >= 0 && hiddenLanes.has(lane[i])) && !hiddenGroups.has(groups[groupOf[kind[i]]][0]) && (!onlyKey || !key || run.texts[key] === onlyKey);
    shown[i] = show ? 1 : 0;
    if (show && lane[i] >= 0) lists[lane[i]].push(i);
  }
  byLane = lists.map((l) => Int32Array.from(l));
}
