// Mouse, wheel and keyboard.

const commands = [
  ['←  →', 'the event before, the next one', null],
  ['↑  ↓', 'the nearest event of the machine above, below', null],
  ['Shift ←  →', 'move by a fifth of the window', null],
  ['+  −', 'zoom in, out', null],
  ['0', 'the whole run', () => look(-end * 0.01, end * 1.01), '0'],
  ['v  V', 'the next broken promise, the one before', null],
  ['Enter', 'the selected event into the middle, larger', null],
  ['m', 'the other end of the message', toOtherEnd, 'm'],
  ['Home  End', 'the first, the last event', null],
  ['/', 'search; Enter there goes to the first match', () => { $('search').focus(); $('search').select(); }, '/'],
  ['n  N', 'the next match, the one before', null],
  ['f', 'filters', () => { $('filters').open = !$('filters').open; ($('filters').open ? $('kinds').querySelector('input') : canvas).focus(); }, 'f'],
  ['s', 'story or scenario', () => tab($('story').hidden ? 'story' : 'scenario'), 's'],
  ['t', 'light or dark', toggleTheme, 't'],
  ['l', 'copy a link to what you see', copyLink, 'l'],
  ['Esc', 'close; select nothing', null],
  ['?', 'this help', () => { if (!$('help').open) $('help').showModal(); }, '?'],
];
const byKey = Object.fromEntries(commands.filter((c) => c[2]).map((c) => [c[3], c[2]]));
Object.assign(byKey, {
  '+': () => zoom(1 / 1.6, focusTime()), '=': () => zoom(1 / 1.6, focusTime()), '-': () => zoom(1.6, focusTime()), '−': () => zoom(1.6, focusTime()),
  v: () => toViolation(1), V: () => toViolation(-1), n: () => nextHit(1), N: () => nextHit(-1),
});

// onChart are keys that mean something else in a list or on a button.
const onChart = {
  ArrowLeft: (e) => (e.shiftKey ? pan(-0.2) : next(-1)), ArrowRight: (e) => (e.shiftKey ? pan(0.2) : next(1)),
  ArrowUp: () => across(-1), ArrowDown: () => across(1),
  Home: () => { const i = shown.indexOf(1); if (i >= 0) select(i); },
  End: () => { const i = shown.lastIndexOf(1); if (i >= 0) select(i); },
  Enter: () => { if (view.selected >= 0) { const size = (view.to - view.from) / 8; look(at[view.selected] - size, at[view.selected] + size); } },
};

// focusTime is what zooming leaves in its place.
function focusTime() {
  const t = view.selected >= 0 ? at[view.selected] : NaN;
  if (t >= view.from && t <= view.to) return t;
  const v = violations.find((x) => x.at >= view.from && x.at <= view.to);
  return v ? v.at : (view.from + view.to) / 2;
}

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
  const on = e.target;
  if (e.key === 'Escape') {
    hideTip();
    if ($('filters').open) $('filters').open = false;
    else if (on === $('search')) search('');
    else select(-1);
    canvas.focus();
    return;
  }
  if (on === $('search')) {
    if (e.key === 'Enter') {
      if (view.query !== on.value) search(on.value);
      nextHit(e.shiftKey ? -1 : 1);
      e.preventDefault();
    }
    return;
  }
  if (on.tagName === 'SELECT' || on.tagName === 'INPUT' && e.key === ' ') return;
  const command = byKey[e.key] || ((on === canvas || on === document.body) && onChart[e.key]);
  if (command) {
    command(e);
    e.preventDefault();
  }
}

function onLineKey(e) {
  const li = e.target.closest('li');
  if (!li) return;
  const to = e.key === 'ArrowDown' ? li.nextElementSibling : e.key === 'ArrowUp' ? li.previousElementSibling : null;
  if (to) {
    to.focus();
    toLine(to);
  } else if (e.key === 'Enter' || e.key === ' ') toLine(li);
  else return;
  e.preventDefault();
}

function listenToChart() {
  let drag = null;
  const spot = (e) => {
    const box = canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  canvas.addEventListener('pointerdown', (e) => {
    const [x, y] = spot(e);
    drag = { x, y, from: view.from, to: view.to, top: scroll.scrollTop, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', (e) => {
    const [x, y] = spot(e);
    if (!drag) {
      point(x, y, e.clientX, e.clientY);
      return;
    }
    if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.moved = true;
    if (!drag.moved) return;
    hideTip();
    const shift = (drag.x - x) / (width - gutter) * (drag.to - drag.from);
    look(drag.from + shift, drag.to + shift);
    scroll.scrollTop = drag.top + drag.y - y;
  });
  canvas.addEventListener('pointerup', (e) => {
    const was = drag;
    drag = null;
    if (was && !was.moved) {
      const [x, y] = spot(e);
      point(x, y, e.clientX, e.clientY);
      select(view.hovered, false);
    }
  });
  canvas.addEventListener('pointercancel', () => { drag = null; });
  canvas.addEventListener('pointerleave', () => {
    view.hovered = -1;
    hideTip();
    redraw();
  });
  canvas.addEventListener('wheel', (e) => {
    e.preventDefault();
    const [x] = spot(e);
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / 1000);
    else zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), x > gutter ? timeAt(x) : focusTime());
  }, { passive: false });
  $('overview').addEventListener('pointerdown', (e) => {
    const box = $('overview').getBoundingClientRect();
    const t = (e.clientX - box.left - gutter) / (box.width - gutter - 12) * end * 1.04 - end * 0.02;
    const size = view.to - view.from;
    look(t - size / 2, t + size / 2);
  });
  scroll.addEventListener('scroll', redraw, { passive: true });
}
