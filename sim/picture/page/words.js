// How instants, durations and events are written: as in the terminal.

const thirds = (digits) => digits.replace(/(\d{3})(?=\d)/g, '$1\u00a0');

// instant writes nanoseconds as seconds with so many decimals, cut.
function instant(ns, decimals) {
  let n = BigInt(ns);
  const sign = n < 0n ? '−' : '';
  if (n < 0n) n = -n;
  const digits = String(n % 1000000000n).padStart(9, '0').slice(0, decimals);
  return sign + n / 1000000000n + (digits ? '.' + thirds(digits) : '');
}

// shortest writes an instant with as many decimals as it needs.
function shortest(ns) {
  if (ns === null || ns === Infinity) return 'never';
  const n = BigInt(typeof ns === 'number' ? Math.round(ns) : ns);
  const decimals = n % 1000n ? 9 : n % 1000000n ? 6 : 3;
  return instant(n, decimals) + '\u00a0s';
}

// length writes a duration in the unit that suits it.
function length(ns) {
  const u = Math.abs(Number(ns));
  const [unit, word] = u < 1e3 ? [1, 'ns'] : u < 1e6 ? [1e3, 'µs'] : u < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  return String(Math.round(u / unit * 1000) / 1000) + '\u00a0' + word;
}

// label is a string of the run, safe to stand in a line: no breaks, no controls.
const label = (s) => s.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');

const machineName = (l) => (l < 0 ? 'the run' : label(run.machines[l][0]));

// spot says of an event how what it refers to is called.
function whoOf(i) {
  const proc = run.proc[i];
  return machineName(lane[i]) + (lane[i] >= 0 && lane[i] < clients && proc > 0 ? '/' + (proc + 1) : '');
}

// localOf is what the machine's own clock said, null if it has none.
function localOf(i) {
  if (lane[i] < 0 || !run.machines[lane[i]][2]) return null;
  return BigInt.asIntN(64, BigInt(run.at[i]) + BigInt(run.ahead[i]));
}

// clocksOf are both clocks of an event, each with what it is called.
function clocksOf(i) {
  const list = [['true time', instant(run.at[i], 9) + '\u00a0s']];
  const local = localOf(i);
  if (local !== null) list.push([machineName(lane[i]) + '’s ' + run.machines[lane[i]][2] + ' clock', instant(local, 9) + '\u00a0s']);
  return list;
}

const told = new Set(['executed', 'heard', 'stored'].map((w) => kindOf[w]));

// raw is a number of the data as JSON writes it: long ones are strings there.
const raw = (v) => String(v);

// jsonOf is an event as JSON, with the fields that mean something (eventJSON in Go
// writes the same).
function jsonOf(i) {
  const fields = [['step', i + 1], ['kind', JSON.stringify(run.kinds[kind[i]])], ['at_ns', raw(run.at[i])]];
  const local = localOf(i);
  if (local !== null) fields.push(['local_ns', local]);
  const client = run.client[i];
  const node = run.node[i];
  if (client >= 0) fields.push(['client', JSON.stringify(run.machines[client][0])]);
  if (run.proc[i] > 0) fields.push(['proc', run.proc[i]]);
  if (node >= 0) fields.push(['node', JSON.stringify(run.machines[clients + node][0])]);
  if (run.op[i]) fields.push(['op', JSON.stringify(run.ops[run.op[i]])]);
  if (told.has(kind[i])) fields.push(['status', JSON.stringify(run.statuses[run.status[i]])]);
  if (run.nth[i]) fields.push(['nth', run.nth[i]]);
  for (const name of ['key', 'owner', 'note']) {
    if (run[name][i]) fields.push([name, JSON.stringify(run.texts[run[name][i]])]);
  }
  if (Number(run.value[i])) fields.push(['value', raw(run.value[i])]);
  return '{' + fields.map(([name, text]) => JSON.stringify(name) + ': ' + text).join(', ') + '}';
}

// sentence is an event in a line, as the terminal tells it at the level of all.
const sentence = (i) => run.said[i] || run.kinds[kind[i]];
