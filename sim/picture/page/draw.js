// The chart: axis, lanes, messages and events. Of what falls together in one pixel
// one mark is drawn, so that a frame costs what can be seen and not what there is.

const g = canvas.getContext('2d');
let hatch = null;

// hatching is the pattern of what is believed and is not so.
function hatching() {
  if (hatch) return hatch;
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const t = tile.getContext('2d');
  t.fillStyle = colors['danger-soft'];
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = colors.danger;
  t.lineWidth = 3;
  for (const d of [-8, 0, 8]) {
    t.beginPath();
    t.moveTo(d - 2, 10);
    t.lineTo(d + 10, -2);
    t.stroke();
  }
  hatch = g.createPattern(tile, 'repeat');
  return hatch;
}

function draw() {
  const top = scroll.scrollTop;
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.fillStyle = colors.page;
  g.fillRect(0, 0, width, height);
  g.font = '12px system-ui, sans-serif';
  g.textBaseline = 'middle';
  g.save();
  g.translate(0, -top);
  const seen = rows.filter((r) => r.y + r.height > top && r.y < top + height);
  drawLanes(seen);
  drawGrid(top);
  drawTroubles(seen);
  drawBars(seen);
  drawBlocks(seen);
  drawViolations(top);
  drawArrows();
  drawEvents(seen);
  drawSelection();
  drawGutter(seen, top);
  g.restore();
  drawAxis();
  drawOverview();
  canvas.dataset.window = Math.round(view.from) + ' ' + Math.round(view.to);
}

function drawLanes(seen) {
  let odd = false;
  for (const r of seen) {
    if (r.sort !== 'lane') continue;
    odd = !odd;
    if (odd) {
      g.fillStyle = colors.lane;
      g.fillRect(0, r.y, width, r.height);
    }
    g.fillStyle = colors.line;
    g.fillRect(gutter, r.y + midLane, width - gutter, 1);
  }
}

// ticks are round instants, about 110 pixels apart, with how many decimals they need.
function ticks() {
  const want = (view.to - view.from) / Math.max(1, (width - gutter) / 130);
  let step = Math.pow(10, Math.floor(Math.log10(want)));
  step = Math.max(1, step * ([1, 2, 5, 10].find((m) => step * m >= want) || 10));
  const decimals = step >= 1e9 ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
  const list = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to && list.length < 60; t += step) list.push(Math.round(t));
  return { list, decimals };
}

function drawGrid(top) {
  g.fillStyle = colors.line;
  g.globalAlpha = 0.6;
  for (const t of ticks().list) g.fillRect(Math.round(xOf(t)), top, 1, height);
  g.globalAlpha = 1;
}

function drawAxis() {
  g.fillStyle = colors.page;
  g.fillRect(0, 0, width, axisHeight);
  g.fillStyle = colors.faint;
  g.font = '11px system-ui, sans-serif';
  g.textAlign = 'left';
  g.fillText('true time', 10, axisHeight / 2);
  g.textAlign = 'center';
  const { list, decimals } = ticks();
  let last = gutter - 20;
  for (const t of list) {
    const text = instant(t, decimals) + '\u00a0s';
    const x = xOf(t);
    const half = g.measureText(text).width / 2;
    if (x - half < last + 8 || x + half > width) continue;
    last = x + half;
    g.fillText(text, x, axisHeight / 2);
    g.fillRect(x, axisHeight - 5, 1, 5);
  }
  g.fillStyle = colors.line;
  g.fillRect(0, axisHeight - 1, width, 1);
  drawFlags();
  g.textAlign = 'left';
}

// drawFlags marks violations on the axis; those that lie together share one flag.
function drawFlags() {
  const flags = [];
  for (const v of violations) {
    const x = xOf(v.at);
    if (x < gutter || x > width) continue;
    const last = flags[flags.length - 1];
    if (last && x - last.x < 26) last.words.add(v.invariant);
    else flags.push({ x, words: new Set([v.invariant]) });
  }
  g.font = 'bold 11px system-ui, sans-serif';
  g.textAlign = 'center';
  for (const { x, words } of flags) {
    const text = [...words].join(' ');
    const half = g.measureText(text).width / 2 + 5;
    g.fillStyle = colors.danger;
    g.beginPath();
    g.moveTo(x, axisHeight);
    g.lineTo(x - half, axisHeight - 7);
    g.lineTo(x - half, 2);
    g.lineTo(x + half, 2);
    g.lineTo(x + half, axisHeight - 7);
    g.fill();
    g.fillStyle = colors.page;
    g.fillText(text, x, 11);
  }
}

function drawViolations(top) {
  g.fillStyle = colors.danger;
  g.globalAlpha = 0.75;
  for (const v of violations) {
    const x = xOf(v.at);
    if (x >= gutter && x <= width) g.fillRect(Math.round(x), top, 1.5, height);
  }
  g.globalAlpha = 1;
}

const inOrder = [...troubles].sort((a, b) => a.from - b.from);

// drawTroubles shades faults and cuts, and says what each is; one without a length is
// a line.
function drawTroubles(seen) {
  for (const r of seen) {
    if (r.sort !== 'lane') continue;
    const mine = inOrder.filter((t) => t.lane === r.lane && t.to >= view.from && t.from <= view.to);
    const leftOf = (t) => Math.max(xOf(t.from), gutter);
    const rightOf = (t) => Math.min(xOf(Math.min(t.to, view.to)), width);
    for (const t of mine) {
      const [x, right] = [leftOf(t), rightOf(t)];
      g.fillStyle = colors.fault;
      g.globalAlpha = t.what === 'cut' ? 0.6 : 1;
      g.fillRect(x, r.y + 1, Math.max(right - x, 3), r.height - 2);
      g.globalAlpha = 1;
      g.fillStyle = colors.warn;
      for (let y = r.y + 1; y < r.y + r.height - 2; y += 6) {
        if (t.from >= view.from) g.fillRect(x, y, 1.5, 3);
        if (t.to <= view.to) g.fillRect(right, y, 1.5, 3);
      }
    }
    let free = 0;
    mine.forEach((t, k) => {
      const x = Math.max(leftOf(t) + 4, free);
      if (x > Math.max(rightOf(t), leftOf(t) + 5)) return;
      const room = Math.max((k + 1 < mine.length ? leftOf(mine[k + 1]) : width) - x - 6, rightOf(t) - x - 6);
      free = x + write(label(t.text || t.what), x, r.y + 9, colors.warn, Math.min(room, width - x - 4)) + 8;
    });
  }
}

// write writes text cut to a width, and returns how wide it is.
function write(text, x, y, color, most, font = '12px system-ui, sans-serif') {
  if (most < 12) return 0;
  g.font = font;
  let w = g.measureText(text).width;
  while (w > most && text.length > 2) {
    text = text.slice(0, Math.max(1, Math.floor(text.length * most / w) - 2)) + '…';
    w = g.measureText(text).width;
  }
  if (w > most || /^.{0,3}…$/.test(text)) return 0;
  g.fillStyle = color;
  g.textAlign = 'left';
  g.fillText(text, x, y);
  return w;
}

const laneY = new Float64Array(laneCount);
function placeLanes() {
  laneY.fill(-1);
  for (const r of rows) if (r.sort === 'lane') laneY[r.lane] = r.y + midLane;
}

// ---- messages

const mostArrows = 1500;
let tooMany = false;

// drawArrows draws messages: from where they were sent to where they arrived, or as
// a stub where they did not. Of those that would lie upon each other one is drawn; of
// more than can be told apart, only those that a search has found, or that were lost.
function drawArrows() {
  placeLanes();
  const whole = [[], []]; // faint or not
  const lost = [];
  const from = view.from;
  const to = view.to;
  const taken = new Set();
  for (let k = 0; k < arrowCount; k++) {
    const i = arrowFrom[k];
    if (at[i] > to || !shown[i]) continue;
    const j = arrowTo[k];
    const until = j >= 0 ? at[j] : Number(run.value[i]);
    if (Math.max(until, at[i]) < from) continue;
    const y1 = laneY[lane[i]];
    const other = j >= 0 ? lane[j] : kind[i] === kindOf.answered ? run.client[i] : clients + run.node[i];
    const y2 = laneY[other];
    if (y1 < 0 || y2 < 0) continue;
    const x1 = xOf(at[i]);
    const place = (Math.round(x1) * laneCount + lane[i]) * laneCount + other;
    if (j >= 0 && taken.has(place)) continue;
    taken.add(place);
    const dim = view.query && !hit[i] && !(j >= 0 && hit[j]) ? 1 : 0;
    if (j >= 0 || until > 0) whole[dim].push(x1, y1, xOf(until), y2);
    else lost.push(x1, y1, y2);
  }
  const crowded = taken.size > mostArrows;
  if (crowded !== tooMany) {
    tooMany = crowded;
    status(crowded ? 'Messages: zoom in to see them' : '');
  }
  if (crowded) whole[1] = [];
  if (crowded && (!view.query || whole[0].length > 4 * mostArrows)) whole[0] = [];
  g.lineWidth = 1;
  g.strokeStyle = g.fillStyle = colors.arrow;
  for (const dim of [0, 1]) {
    g.globalAlpha = dim ? 0.15 : taken.size > 600 ? 0.35 : 0.8;
    strokeArrows(whole[dim], taken.size < 600);
  }
  g.globalAlpha = 1;
  drawLost(lost);
}

function strokeArrows(list, heads) {
  g.beginPath();
  for (let k = 0; k < list.length; k += 4) {
    g.moveTo(list[k], list[k + 1]);
    g.lineTo(list[k + 2], list[k + 3]);
  }
  g.stroke();
  if (!heads) return;
  g.beginPath();
  for (let k = 0; k < list.length; k += 4) {
    const dx = list[k + 2] - list[k];
    const dy = list[k + 3] - list[k + 1];
    const d = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / d, dy / d];
    const [x, y] = [list[k + 2] - ux * 3, list[k + 3] - uy * 3];
    g.moveTo(x, y);
    g.lineTo(x - ux * 7 - uy * 3, y - uy * 7 + ux * 3);
    g.lineTo(x - ux * 7 + uy * 3, y - uy * 7 - ux * 3);
    g.closePath();
  }
  g.fill();
}

// drawLost draws what did not arrive: a dashed stub with a cross.
function drawLost(list) {
  g.strokeStyle = colors.danger;
  g.lineWidth = 1.3;
  g.setLineDash([4, 3]);
  g.beginPath();
  const ends = [];
  for (let k = 0; k < list.length; k += 3) {
    const [x, y1, y2] = [list[k], list[k + 1], list[k + 2]];
    const y = y1 + (y2 - y1) * 0.5;
    g.moveTo(x, y1);
    g.lineTo(x + 10, y);
    ends.push([x + 10, y]);
  }
  g.stroke();
  g.setLineDash([]);
  g.lineWidth = 2;
  g.beginPath();
  for (const [x, y] of ends) cross(x, y, 4);
  g.stroke();
}

function cross(x, y, r) {
  g.moveTo(x - r, y - r);
  g.lineTo(x + r, y + r);
  g.moveTo(x + r, y - r);
  g.lineTo(x - r, y + r);
}
