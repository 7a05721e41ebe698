// What stands beside the picture: the event, the story, the scenario, search and
// filters. Strings of the run reach the page as text only.

function element(tag, text, name) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
}

function fillHead() {
  $('title').textContent = label(run.title);
  $('verdict').textContent = run.failure ? 'FAILED' : run.ok ? 'HELD' : 'BROKEN';
  $('verdict').className = run.failure || !run.ok ? 'broken' : 'held';
  $('headline-text').textContent = label(run.failure || run.headline);
  if (run.failure) $('why').append(element('dt', run.ok ? 'Held' : 'Broken'), element('dd', label(run.headline)));
  for (const [head, text] of run.sentences) {
    const cause = /^(Cause|BUG|Flaw)/.test(head) ? 'cause' : '';
    $('why').append(element('dt', head.trim().replace(/:$/, ''), cause), element('dd', label(text), cause));
  }
  $('violation').disabled = !violations.length;
  $('about').textContent = [run.about, run.source].filter(Boolean).map(label).join(' — ');
  $('scenario-text').textContent = run.scenario;
  $('command').textContent = run.command ? 'Replay: ' + run.command : '';
  $('hash').textContent = `Hash: ${run.hash} · ${count.toLocaleString('en')} events`;
}

// ---- the event

function select(i, show = true) {
  view.selected = i;
  $('event-title').textContent = i < 0 ? 'No event selected' : `#${i + 1} ${whoOf(i)}: ${run.kinds[kind[i]]}`;
  $('event-text').textContent = i < 0 ? 'Click one, or press →.' : label(sentence(i));
  $('event-clocks').replaceChildren();
  $('event-json').textContent = i < 0 ? '' : jsonOf(i);
  $('event-more').hidden = i < 0;
  if (i >= 0) {
    for (const [name, text] of clocksOf(i)) $('event-clocks').append(element('dt', name), element('dd', text));
    if (show) reveal(at[i], lane[i]);
    say(`Step ${i + 1}, ${whoOf(i)}: ${label(sentence(i))}. ` + clocksOf(i).map((c) => c.join(' ')).join(', '));
    showLine(lineOf(i + 1));
  }
  remember();
  redraw();
}

// next goes to the event shown after the one selected, or before it; without one, to
// the first one in the window.
function next(step) {
  let i = view.selected;
  if (i < 0) i = lower(view.from) - (step > 0 ? 1 : 0);
  do i += step; while (i >= 0 && i < count && !shown[i]);
  if (i >= 0 && i < count) select(i);
}

// across goes to the nearest event on the next lane up or down.
function across(step) {
  const lanes = rows.filter((r) => r.sort === 'lane').map((r) => r.lane);
  const now = view.selected < 0 ? (step > 0 ? -1 : lanes.length) : lanes.indexOf(lane[view.selected]);
  const t = view.selected < 0 ? (view.from + view.to) / 2 : at[view.selected];
  for (let n = now + step; n >= 0 && n < lanes.length; n += step) {
    const i = nearest(lanes[n], t);
    if (i >= 0) {
      select(i);
      return;
    }
  }
}

function nearest(l, t) {
  const list = byLane[l];
  if (!list.length) return -1;
  const k = lower(t, list);
  if (k === list.length) return list[k - 1];
  return k > 0 && t - at[list[k - 1]] < at[list[k]] - t ? list[k - 1] : list[k];
}

// toOtherEnd follows the message of the event that is selected.
function toOtherEnd() {
  const way = threadOf(view.selected >= 0 ? view.selected : 0);
  const forth = way.find(([a]) => a === view.selected) || way.find(([, b]) => b === view.selected);
  if (view.selected >= 0 && forth) select(forth[0] === view.selected ? forth[1] : forth[0]);
  else status('This event is no message that arrived');
}

// ---- the story, a part of it at a time

const part = 300;
let firstLine = 0;
const steps = run.story.map((l) => l[0]);
$('lines').style.setProperty('--who', Math.min(Math.max(3, ...run.story.slice(0, 1000).map((l) => l[2].length)), 10) + 'ch');

// lineOf is the last line of the story that begins at a step or before it.
function lineOf(step) {
  let best = -1;
  for (let k = 0; k < steps.length; k++) {
    if (steps[k] > step) break;
    if (steps[k] > 0) best = k;
  }
  return best;
}

function fillLines(first) {
  firstLine = Math.max(0, Math.min(first, run.story.length - part));
  const until = Math.min(run.story.length, firstLine + part);
  const list = [];
  for (let k = firstLine; k < until; k++) {
    const [step, when, who, text, bad] = run.story[k];
    const li = element('li');
    li.tabIndex = -1;
    li.dataset.line = k;
    const by = element('span', step ? label(who) : '──', 'who');
    by.title = by.textContent;
    li.append(element('span', instant(when ?? 0, 6), 'at'), by, element('span', label(text), bad ? 'broken' : ''));
    list.push(li);
  }
  if (list.length) list[0].tabIndex = 0;
  $('lines').replaceChildren(...list);
  $('earlier').hidden = firstLine === 0;
  $('later').hidden = until === run.story.length;
}

function showLine(k) {
  if (k < 0) return;
  if (k < firstLine || k >= firstLine + part) fillLines(k - part / 2);
  for (const li of $('lines').children) {
    const is = Number(li.dataset.line) === k;
    li.tabIndex = is ? 0 : -1;
    if (is) {
      li.setAttribute('aria-current', 'true');
      const box = $('story');
      if (li.offsetTop < box.scrollTop || li.offsetTop + li.offsetHeight > box.scrollTop + box.clientHeight) {
        box.scrollTop = li.offsetTop - box.clientHeight / 3;
      }
    } else li.removeAttribute('aria-current');
  }
}

// toLine goes where a line of the story is told.
function toLine(li) {
  const k = Number(li.dataset.line);
  const [step, when] = run.story[k];
  if (step) select(step - 1);
  else {
    reveal(instantOf(when), -1);
    view.selected = -1;
    redraw();
  }
  showLine(k);
}

function tab(name) {
  for (const t of ['story', 'scenario']) {
    $(t).hidden = t !== name;
    $('tab-' + t).setAttribute('aria-selected', String(t === name));
    $('tab-' + t).tabIndex = t === name ? 0 : -1;
  }
}

// ---- search

let hit = new Uint8Array(0);
let haystack = null;

function search(query) {
  view.query = query;
  if ($('search').value !== query) $('search').value = query;
  const words = query.toLowerCase().replace(/\u00a0/g, ' ').split(/\s+/).filter(Boolean);
  if (words.length && !haystack) {
    haystack = Array.from({ length: count }, (_, i) => [whoOf(i), run.kinds[kind[i]], sentence(i), run.texts[keyOf[i]], run.texts[run.owner[i]], run.texts[run.note[i]]]
      .join(' ').toLowerCase().replace(/\u00a0/g, ' '));
  }
  const found = [];
  if (words.length) {
    hit = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      if (shown[i] && words.every((w) => haystack[i].includes(w))) {
        hit[i] = 1;
        found.push(i);
      }
    }
  }
  view.query = words.length ? query : '';
  view.hits = Int32Array.from(found);
  $('hits').textContent = words.length ? `${found.length.toLocaleString('en')} of ${count.toLocaleString('en')}` : '';
  $('next-hit').disabled = $('previous-hit').disabled = !found.length;
  remember();
  redraw();
}

function nextHit(step) {
  if (!view.hits.length) return;
  const now = view.selected < 0 ? lower(view.from) - 0.5 : view.selected;
  let k = step > 0 ? view.hits.findIndex((i) => i > now) : view.hits.findLastIndex((i) => i < now);
  if (k < 0) k = step > 0 ? 0 : view.hits.length - 1;
  select(view.hits[k]);
  status(`Match ${k + 1} of ${view.hits.length}`);
}

// ---- filters

function fillFilters() {
  const check = (place, text, name) => {
    const box = element('input');
    box.type = 'checkbox';
    box.dataset.name = name;
    const l = element('label');
    l.append(box, ' ' + text);
    place.append(l);
  };
  groups.forEach(([name, text]) => check($('kinds'), text, name));
  run.machines.forEach(([, sort], l) => check($('machines'), `${machineName(l)} (${sort})`, l));
  const all = element('option', 'all');
  all.value = '';
  $('key').append(all);
  for (const k of keys) {
    const o = element('option', label(k));
    o.value = k;
    $('key').append(o);
  }
  const changed = (place, hidden, value) => place.addEventListener('change', (e) => {
    const name = value(e.target.dataset.name);
    if (e.target.checked) hidden.delete(name);
    else hidden.add(name);
    filtered();
  });
  changed($('kinds'), hiddenGroups, String);
  changed($('machines'), hiddenLanes, Number);
  $('key').addEventListener('change', () => { onlyKey = $('key').value; filtered(); });
}

// filtered takes in a change of what is shown.
function filtered() {
  sift();
  layOut();
  measure();
  search(view.query);
  showFilters();
}

function showFilters() {
  for (const box of $('kinds').querySelectorAll('input')) box.checked = !hiddenGroups.has(box.dataset.name);
  for (const box of $('machines').querySelectorAll('input')) box.checked = !hiddenLanes.has(Number(box.dataset.name));
  $('key').value = onlyKey;
  const off = hiddenGroups.size + hiddenLanes.size;
  $('filters').querySelector('summary').textContent = off ? `Filter (${off} hidden)` : 'Filter';
}

// ---- what is pointed at

function hideTip() { $('tip').hidden = true; }

function showTip(x, y, title, lines, json) {
  const tip = $('tip');
  tip.replaceChildren(element('b', title), ...lines.map((l) => element('div', l)));
  if (json) tip.append(element('pre', json));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18) + 'px';
}

// point shows what is under the pointer.
function point(x, y, pageX, pageY) {
  const r = rowAt(y + scroll.scrollTop);
  const t = timeAt(x);
  let found = -1;
  if (r && r.sort === 'lane' && x >= gutter) {
    const i = nearest(r.lane, t);
    if (i >= 0 && Math.abs(xOf(at[i]) - x) <= 9) found = i;
  }
  if (found !== view.hovered) {
    view.hovered = found;
    redraw();
  }
  canvas.style.cursor = found >= 0 ? 'pointer' : 'default';
  if (found >= 0) {
    showTip(pageX, pageY, `#${found + 1} ${whoOf(found)}: ${label(sentence(found))}`, clocksOf(found).map((c) => c.join(' ')), jsonOf(found));
  } else if (r && x >= gutter) pointAtBar(r, t, y + scroll.scrollTop, pageX, pageY);
  else hideTip();
}

function pointAtBar(r, t, y, pageX, pageY) {
  const slack = (view.to - view.from) / width * 3;
  const within = (from, to) => t >= from - slack && t <= to + slack;
  if (r.sort === 'trust' || r.sort === 'truth') {
    const l = r.leases.find((x) => (r.sort === 'trust' ? within(x.from, x.trust) : within(x.stands, x.truth)));
    if (l) {
      const x = l.exact;
      const margin = l.truth === Infinity || l.trust === Infinity ? '' : l.trust > l.truth ? 'belief went on for ' + length(l.trust - l.truth) + ' too long' : 'truth outlived belief by ' + length(l.truth - l.trust);
      showTip(pageX, pageY, `${machineName(l.client)} and ${JSON.stringify(label(l.key))}`, [
        `believes it holds: ${shortest(x.granted)} to ${shortest(x.trust)}`,
        `the nodes block: ${shortest(x.stands)} to ${shortest(x.exclusion)}`,
        `${l.nodes} nodes had the key when it was granted; ${run.needed} must block`, margin].filter(Boolean));
      return;
    }
  }
  if (r.sort === 'lane') {
    const lines = troubles.filter((f) => f.lane === r.lane && within(f.from, f.to)).map((f) => `${f.what}: ${label(f.text)}, from ${shortest(f.exact.from)}${f.to > f.from ? ' to ' + shortest(f.exact.to) : ''}`);
    if (y > r.y + r.height - 10) {
      for (const b of blocks) {
        if (b.lane === r.lane && within(b.from, b.to)) lines.push(`has ${JSON.stringify(label(b.key))} for ${machineName(b.client)}${b.granted ? '' : ', which was not granted it'}: ${shortest(b.exact.from)} to ${shortest(b.exact.to)} (${b.ends})`);
        if (lines.length > 8) break;
      }
    }
    if (lines.length) {
      showTip(pageX, pageY, machineName(r.lane), lines);
      return;
    }
  }
  hideTip();
}
