// The bars of belief and truth, what the nodes have, the marks of events, and what is
// written beside them.

// stretch draws a bar, clipped, at least a pixel and a half wide.
function stretch(from, to, y, h) {
  if (to < view.from || from > view.to || to <= from) return 0;
  const x = Math.max(xOf(from), gutter - 2);
  const w = Math.max(Math.min(xOf(Math.min(to, view.to)), width) - x, 1.5);
  g.fillRect(x, y, w, h);
  return w;
}

function drawBars(seen) {
  for (const r of seen) {
    if (r.sort === 'trust') {
      g.fillStyle = clientColor(r.client);
      for (const l of r.leases) stretch(l.from, l.trust, r.y + 3, r.height - 5);
      for (const l of r.leases) if (l.trust > Math.max(l.truth, l.from)) wrong(Math.max(l.truth, l.from), l.trust, r);
    } else if (r.sort === 'truth') {
      g.fillStyle = colors.truth;
      for (const l of r.leases) stretch(l.stands, l.truth, r.y + 3, r.height - 5);
    }
  }
  for (const v of violations) if (v.invariant === 'I1' && v.lease >= 0 && v.other >= 0) both(seen, leases[v.lease], leases[v.other]);
}

// wrong draws belief beyond truth, and for how long it went on.
function wrong(from, to, r) {
  g.fillStyle = hatching();
  const w = stretch(from, to, r.y + 2, r.height - 3);
  if (!w) return;
  g.strokeStyle = colors.danger;
  g.lineWidth = 1.5;
  const x = Math.max(xOf(from), gutter);
  g.strokeRect(x, r.y + 2, Math.max(w - 1, 1), r.height - 3);
  tag(length(to - from) + ' too long', x, w, r.y + r.height / 2 + 0.5);
}

// tag writes in the middle of a stretch, or if that is too short, before it.
function tag(text, x, w, y) {
  g.font = 'bold 11px system-ui, sans-serif';
  const wide = g.measureText(text).width + 8;
  const left = wide < w ? x + (Math.min(w, width - x) - wide) / 2 : x - wide - 3 > gutter ? x - wide - 3 : x + w + 3;
  g.fillStyle = colors.page;
  g.fillRect(left, y - 7, wide, 14);
  g.fillStyle = colors.danger;
  g.textAlign = 'left';
  g.fillText(text, left + 4, y);
}

// both frames the time in which two clients believed at once.
function both(seen, a, b) {
  const from = Math.max(a.from, b.from);
  const to = Math.min(a.trust, b.trust);
  const mine = seen.filter((r) => r.sort === 'trust' && r.key === a.key && (r.client === a.client || r.client === b.client));
  if (!mine.length || to < view.from || from > view.to || to <= from) return;
  const x = Math.max(xOf(from), gutter);
  const w = Math.max(Math.min(xOf(to), width) - x, 2);
  g.strokeStyle = colors.danger;
  g.lineWidth = 2;
  g.setLineDash([5, 3]);
  const top = Math.min(...mine.map((r) => r.y));
  const bottom = Math.max(...mine.map((r) => r.y + r.height));
  g.strokeRect(x, top, w, bottom - top);
  g.setLineDash([]);
  for (const r of mine.filter((m) => m.client === a.client)) tag('two holders for ' + length(to - from), x, w, r.y + r.height / 2 + 0.5);
}

// drawBlocks draws on each node for whom it kept others out; faint, if that one was not
// granted the lock. A few keys have their bars below each other.
function drawBlocks(seen) {
  const many = onlyKey ? 1 : Math.min(Math.max(keys.length, 1), 4);
  const thick = many === 1 ? 5 : 9 / many;
  const below = new Map(keys.map((k, i) => [k, onlyKey ? 0 : (i % many) * thick]));
  const top = new Map(seen.filter((r) => r.sort === 'lane').map((r) => [r.lane, r.y + r.height - (many === 1 ? 7 : 10)]));
  let last = -1; // a block that ends in the same pixel is not drawn again
  let on = '';
  for (const b of blocks) {
    const y = top.get(b.lane);
    if (y === undefined || b.to < view.from || b.from > view.to || (onlyKey && b.key !== onlyKey)) continue;
    const right = Math.round(xOf(Math.min(b.to, view.to)) * 2);
    const bar = b.lane + b.key;
    if (bar === on && right === last) continue;
    [on, last] = [bar, right];
    g.fillStyle = clientColor(b.client);
    g.globalAlpha = b.granted ? 1 : 0.4;
    stretch(b.from, b.to, y + (below.get(b.key) || 0), many === 1 ? 5 : thick - 0.5);
  }
  g.globalAlpha = 1;
}

// ---- events

// marks say how a kind of event is drawn, and its word if there is room.
const marks = {
  granted: ['up', 'holds'], extended: ['up', 'extended'], refused: ['bad', 'gave up'], released: ['down', 'released'],
  releasing: ['down', ''], lost: ['bad', 'told: lost'], unextended: ['bad', 'not extended'], faulted: ['diamond', ''],
  healed: ['diamond', 'over'], holds: ['dot', ''], noted: ['square', 'log'], read: ['tick', ''], slept: ['tick', ''],
  started: ['tick', ''], ended: ['tick', ''], asked: ['ring', 'asks'], wanted: ['ring', ''], dropped: ['bad', 'down'], stored: ['square', 'write'], 'gave-up': ['bad', ''],
};
const markOf = run.kinds.map((word) => marks[word] || ['dot', '']);
const weighty = new Uint8Array(run.kinds.length);
['granted', 'extended', 'refused', 'released', 'lost', 'unextended', 'faulted', 'healed', 'noted'].forEach((w) => { weighty[kindOf[w]] = 1; });

// drawEvents draws each lane's events: first what is light, then what counts. Where
// several share a pixel the next one looked at is a pixel further on.
function drawEvents(seen) {
  const perPixel = (view.to - view.from) / Math.max(1, width - gutter);
  for (const r of seen) {
    if (r.sort !== 'lane') continue;
    const list = byLane[r.lane];
    const y = r.y + midLane;
    const first = lower(view.from, list);
    const last = lower(view.to, list);
    const heavy = [];
    const crowded = last - first > 2 * (width - gutter);
    for (let k = first; k < last;) {
      const i = list[k];
      if (weighty[kind[i]]) heavy.push(i);
      else mark(i, xOf(at[i]), y);
      if (!crowded) k++;
      else {
        const next = lower(at[i] + perPixel, list);
        for (let n = k + 1; n < Math.min(next, k + 64); n++) if (weighty[kind[list[n]]]) heavy.push(list[n]);
        k = Math.max(next, k + 1);
      }
    }
    let free = 0;
    let before = -1;
    for (const i of heavy) {
      const x = xOf(at[i]);
      if (x - before >= 1 || !crowded) mark(i, x, y);
      before = x;
    }
    g.globalAlpha = 1;
    for (const i of crowded ? [] : heavy.concat(labelled(list, first, last))) {
      const x = xOf(at[i]);
      const word = markOf[kind[i]][1];
      if (word && x > free) free = x + write(word, x + 6, y - 10, colors.faint, Math.min(90, width - x - 8)) + 12;
    }
  }
  g.globalAlpha = 1;
}

// labelled are the light events that have a word, if there are few.
function labelled(list, first, last) {
  const some = [];
  for (let k = first; k < last && last - first < 200; k++) {
    const i = list[k];
    if (!weighty[kind[i]] && markOf[kind[i]][1]) some.push(i);
  }
  return some;
}

// outcome is the colour of what a node did.
function colorOf(i) {
  const word = run.kinds[kind[i]];
  if (word === 'executed' || word === 'stored') return run.statuses[run.status[i]] === 'done' ? clientColor(run.client[i]) : colors.faint;
  if (groupOf[kind[i]] === 2) return colors.warn;
  if (markOf[kind[i]][0] === 'bad') return colors.danger;
  if (run.client[i] >= 0) return clientColor(run.client[i]);
  return colors.faint;
}

function mark(i, x, y) {
  g.globalAlpha = view.query && !hit[i] ? 0.18 : 1;
  g.fillStyle = g.strokeStyle = colorOf(i);
  shape(markOf[kind[i]][0], x, y);
}

function shape(how, x, y) {
  g.lineWidth = 1.5;
  g.beginPath();
  switch (how) {
    case 'up':
      g.moveTo(x, y - 8);
      g.lineTo(x + 6, y + 4);
      g.lineTo(x - 6, y + 4);
      g.fill();
      break;
    case 'down':
      g.moveTo(x, y + 7);
      g.lineTo(x + 5, y - 4);
      g.lineTo(x - 5, y - 4);
      g.closePath();
      g.stroke();
      break;
    case 'diamond':
      g.moveTo(x, y - 6);
      g.lineTo(x + 6, y);
      g.lineTo(x, y + 6);
      g.lineTo(x - 6, y);
      g.fill();
      break;
    case 'bad':
      g.lineWidth = 2.2;
      cross(x, y, 4);
      g.stroke();
      break;
    case 'square':
      g.fillRect(x - 3, y - 3, 6, 6);
      break;
    case 'tick':
      g.fillRect(x - 0.5, y - 3, 1, 6);
      break;
    case 'ring':
      g.arc(x, y, 3.5, 0, 7);
      g.stroke();
      break;
    default:
      g.arc(x, y, 2.5, 0, 7);
      g.fill();
  }
}

// drawSelection marks what is selected and what is pointed at, with their messages.
function drawSelection() {
  for (const i of [view.hovered, view.selected]) {
    if (i < 0) continue;
    const y = lane[i] < 0 ? -1 : laneY[lane[i]];
    g.strokeStyle = colors.select;
    g.fillStyle = colors.select;
    if (i === view.selected) {
      const x = xOf(at[i]);
      canvas.dataset.selected = `${i + 1} ${x} ${y - scroll.scrollTop}`; // the step and its place
      g.globalAlpha = 0.5;
      g.fillRect(Math.round(x), scroll.scrollTop, 1, height);
      g.globalAlpha = 1;
    }
    g.lineWidth = 2;
    strokeArrows(threadOf(i).flatMap(([a, b]) => {
      const [y1, y2] = [laneY[lane[a]], laneY[lane[b]]];
      return y1 < 0 || y2 < 0 ? [] : [xOf(at[a]), y1, xOf(at[b]), y2];
    }), true);
    if (y < 0) continue;
    g.beginPath();
    g.arc(xOf(at[i]), y, 9, 0, 7);
    g.stroke();
  }
}

const threads = new Map();
// threadOf are the ways of the message that an event is about, there and back.
function threadOf(i) {
  if (!run.nth[i] || groupOf[kind[i]] !== 1) return [];
  if (threads.has(i)) return threads.get(i);
  const found = [];
  for (let k = 0; k < arrowCount; k++) {
    const a = arrowFrom[k];
    if (arrowTo[k] >= 0 && run.nth[a] === run.nth[i] && run.client[a] === run.client[i] && run.node[a] === run.node[i]) found.push([a, arrowTo[k]]);
  }
  threads.set(i, found);
  return found;
}

// ---- labels and overview

function drawGutter(seen, top) {
  g.fillStyle = colors.page;
  g.fillRect(0, top, gutter, height);
  g.fillStyle = colors.line;
  g.fillRect(gutter - 1, top, 1, height);
  for (const r of seen) {
    const y = r.y + r.height / 2;
    if (r.sort === 'key') {
      write('key ' + JSON.stringify(label(r.key)), 10, y + 1, colors.faint, gutter - 16);
    } else if (r.sort === 'trust') {
      g.fillStyle = clientColor(r.client);
      g.fillRect(10, r.y + 3, 4, r.height - 5);
      write(machineName(r.client) + ' believes it holds', 20, y, colors.text, gutter - 26);
    } else if (r.sort === 'truth') {
      g.fillStyle = colors.truth;
      g.fillRect(10, r.y + 3, 4, r.height - 5);
      write('the nodes really block', 20, y, colors.text, gutter - 26);
    } else {
      drawName(r);
    }
  }
}

function drawName(r) {
  const [name, sort, clock, off] = run.machines[r.lane];
  g.fillStyle = sort === 'client' ? clientColor(r.lane) : colors.faint;
  g.fillRect(10, r.y + 6, 4, r.height - 12);
  write(label(name), 20, r.y + 17, colors.text, gutter - 26, 'bold 13px system-ui, sans-serif');
  const about = sort === 'resource' ? 'resource' : `${sort}, ${clock} clock ${off}`;
  write(about, 20, r.y + 33, off ? colors.warn : colors.faint, gutter - 26);
}

// drawOverview draws the whole run, small: how much happened when, and where we are.
function drawOverview() {
  const element = $('overview');
  const o = element.getContext('2d');
  const w = element.width / scale;
  const place = (t) => gutter + (t + end * 0.02) / (end * 1.04) * (w - gutter - 12);
  o.setTransform(scale, 0, 0, scale, 0, 0);
  o.clearRect(0, 0, w, 30);
  o.font = '11px system-ui, sans-serif';
  o.fillStyle = colors.faint;
  o.fillText('whole run, ' + length(end), 10, 19);
  o.fillStyle = colors.arrow;
  if (density.length !== Math.ceil(w)) countDensity(Math.ceil(w), place);
  const most = Math.max(1, ...density);
  density.forEach((n, x) => { if (n) o.fillRect(x, 26 - 18 * Math.sqrt(n / most), 1, 18 * Math.sqrt(n / most)); });
  o.fillStyle = colors.danger;
  for (const v of violations) o.fillRect(place(v.at) - 1, 2, 2, 26);
  o.strokeStyle = colors.select;
  o.lineWidth = 1.5;
  o.strokeRect(place(view.from), 3, Math.max(place(view.to) - place(view.from), 3), 24);
}

let density = [];
function countDensity(w, place) {
  density = new Array(w).fill(0);
  for (let i = 0; i < count; i++) density[Math.min(w - 1, Math.floor(place(at[i])))]++;
}
