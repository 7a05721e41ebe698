// What of the run is looked at: the window of true time, what is selected, and the
// link that says so. Everything that changes it calls redraw.

const gutter = 190;
const axisHeight = 26;
const laneHeight = 48;
const midLane = 31; // where the events of a lane lie
const view = { from: 0, to: end, selected: -1, hovered: -1, query: '', hits: new Int32Array(0) };
const shortestWindow = 50; // ns

let rows = [];
let tall = 0;

// layOut places a pair of bars for each key and client that held it, and a lane for
// each machine.
function layOut() {
  rows = [];
  let y = axisHeight + 4;
  const put = (row, height) => { rows.push({ ...row, y, height }); y += height; };
  for (const key of keys) {
    if (onlyKey && key !== onlyKey) continue;
    const mine = leases.filter((l) => l.key === key && !hiddenLanes.has(l.client));
    if (!mine.length) continue;
    put({ sort: 'key', key }, 20);
    for (let c = 0; c < clients; c++) {
      const held = mine.filter((l) => l.client === c);
      if (!held.length) continue;
      put({ sort: 'trust', key, client: c, leases: held }, 24);
      put({ sort: 'truth', key, client: c, leases: held }, 24);
      y += 5;
    }
    y += 3;
  }
  y += 4;
  for (let l = 0; l < laneCount; l++) {
    if (!hiddenLanes.has(l)) put({ sort: 'lane', lane: l }, laneHeight);
  }
  tall = y + 6;
}

const canvas = $('chart');
const scroll = $('scroll');
let width = 0;
let height = 0;
let scale = 1; // device pixels

// fit sizes a canvas to its place.
function fit(element, w, h) {
  scale = Math.max(1, window.devicePixelRatio || 1);
  element.style.width = w + 'px';
  element.style.height = h + 'px';
  const [pw, ph] = [Math.round(w * scale), Math.round(h * scale)];
  if (element.width !== pw || element.height !== ph) {
    element.width = pw;
    element.height = ph;
  }
}

function measure() {
  $('tall').style.height = tall + 'px';
  width = scroll.clientWidth;
  height = Math.min(tall, scroll.clientHeight || tall);
  fit(canvas, width, height);
  fit($('overview'), $('picture').clientWidth, 30);
}

const xOf = (t) => gutter + (t - view.from) / (view.to - view.from) * (width - gutter - 12);
const timeAt = (x) => view.from + (x - gutter) / (width - gutter - 12) * (view.to - view.from);
const rowAt = (y) => rows.find((r) => y >= r.y && y < r.y + r.height);

let pending = 0;
function redraw() {
  if (!pending) pending = requestAnimationFrame(() => { pending = 0; draw(); });
}

// look shows a stretch of true time, kept within the run and not too short.
function look(from, to) {
  const least = -end * 0.02;
  const most = end * 1.02;
  let size = Math.min(Math.max(to - from, shortestWindow), most - least);
  from = Math.min(Math.max(from, least), most - size);
  view.from = from;
  view.to = from + size;
  remember();
  redraw();
}

function zoom(factor, t = (view.from + view.to) / 2) {
  look(t - (t - view.from) * factor, t + (view.to - t) * factor);
}

const pan = (share) => look(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

// reveal moves an instant, and a row, into the picture without changing its scale.
function reveal(t, l) {
  const size = view.to - view.from;
  if (t < view.from + size * 0.03 || t > view.to - size * 0.03) look(t - size / 2, t + size / 2);
  const row = rows.find((r) => r.sort === 'lane' && r.lane === l);
  if (row) {
    if (row.y < scroll.scrollTop + axisHeight) scroll.scrollTop = row.y - axisHeight;
    else if (row.y + row.height > scroll.scrollTop + height) scroll.scrollTop = row.y + row.height - height;
  }
}

// opening is where the page opens: at the violation, at the last events of a run that
// failed otherwise, or at all of one that held.
function opening() {
  if (run.failure && run.ok && count) {
    const from = at[Math.max(0, count - 40)];
    const size = Math.max(end - from, 1);
    return [from - size * 0.04, end + size * 0.08];
  }
  const [from, to] = run.window.map(Number);
  if (run.ok || !(to > from)) return [-end * 0.01, end * 1.01];
  const size = to - from;
  return [from - size * 0.04, to + size * 0.08];
}

let turn = -1; // the violation that was looked at last
// toViolation goes to the next one, or the one before.
function toViolation(step) {
  if (!violations.length) {
    say('Nothing broke in this run.');
    return;
  }
  turn = turn < 0 ? 0 : (turn + step + violations.length) % violations.length;
  const v = violations[turn];
  if (turn === 0) look(...opening());
  else {
    const size = view.to - view.from;
    look(v.at - size / 2, v.at + size / 2);
  }
  scroll.scrollTop = 0;
  say(`Violation ${turn + 1} of ${violations.length}, at ${shortest(v.exact)}: ${label(v.text)}`);
  status(`Violation ${turn + 1} of ${violations.length}`);
  showLine(run.story.findIndex((l) => l[4] && instantOf(l[1]) === v.at));
  redraw();
}

function say(text) { $('live').textContent = text; }
function status(text) { $('status').textContent = text; }

// ---- the link that carries the view

let waiting = 0;
function remember() {
  clearTimeout(waiting);
  waiting = setTimeout(() => { history.replaceState(null, '', '#' + linked()); }, 250);
}

// linked is the view as the part of an address behind '#'.
function linked() {
  const p = new URLSearchParams();
  p.set('from', Math.round(view.from));
  p.set('to', Math.round(view.to));
  if (view.selected >= 0) p.set('step', view.selected + 1);
  if (view.query) p.set('q', view.query);
  if (onlyKey) p.set('key', onlyKey);
  if (hiddenLanes.size) p.set('without', [...hiddenLanes].join('.'));
  if (hiddenGroups.size) p.set('hide', [...hiddenGroups].join('.'));
  if (chosenTheme) p.set('theme', chosenTheme);
  return p.toString();
}

// follow takes the view from the link; what makes no sense in it is left out.
function follow() {
  const p = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (p.get(name) === null || p.get(name) === '' ? NaN : Number(p.get(name)));
  hiddenLanes.clear();
  hiddenGroups.clear();
  for (const l of (p.get('without') || '').split('.')) if (l !== '' && Number(l) >= 0 && Number(l) < laneCount) hiddenLanes.add(Number(l));
  for (const g of (p.get('hide') || '').split('.')) if (groups.some(([name]) => name === g)) hiddenGroups.add(g);
  onlyKey = keys.includes(p.get('key')) ? p.get('key') : '';
  if (['light', 'dark'].includes(p.get('theme'))) chosenTheme = p.get('theme');
  paintTheme();
  sift();
  layOut();
  measure();
  search(p.get('q') || '');
  const [from, to] = [number('from'), number('to')];
  if (to > from) look(from, to);
  else look(...opening());
  const step = number('step');
  select(step >= 1 && step <= count ? Math.round(step) - 1 : -1, false);
}

async function copyLink() {
  clearTimeout(waiting);
  history.replaceState(null, '', '#' + linked());
  try {
    await navigator.clipboard.writeText(location.href);
    status('The link is in the clipboard');
  } catch {
    status('The link stands in the address bar');
  }
}

// ---- light and dark

let chosenTheme = ''; // '': as the system has it
const systemDark = window.matchMedia('(prefers-color-scheme: dark)');
const colors = {};

function paintTheme() {
  const dark = chosenTheme ? chosenTheme === 'dark' : systemDark.matches;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  const style = getComputedStyle(document.documentElement);
  for (const name of ['page', 'panel', 'line', 'text', 'faint', 'lane', 'danger', 'danger-soft', 'good', 'warn', 'fault', 'truth', 'select', 'arrow', 'c0', 'c1', 'c2', 'c3', 'c4', 'c5']) {
    colors[name] = style.getPropertyValue('--' + name).trim();
  }
  hatch = null;
  redraw();
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme === 'dark';
  chosenTheme = dark === systemDark.matches ? (dark ? 'light' : 'dark') : '';
  paintTheme();
  remember();
  status(chosenTheme ? chosenTheme : 'as the system has it');
}

const clientColor = (c) => (c < 0 ? colors.faint : colors['c' + c % 6]);
