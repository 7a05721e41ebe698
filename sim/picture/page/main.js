// The page's beginning: everything is drawn and listens, then it says that it is ready.

function listen() {
  document.addEventListener('keydown', onKey);
  listenToChart();
  const on = (id, f) => $(id).addEventListener('click', f);
  on('theme', toggleTheme);
  on('link', copyLink);
  on('open-help', () => $('help').showModal());
  on('violation', () => toViolation(1));
  on('all', () => look(-end * 0.01, end * 1.01));
  on('zoom-in', () => zoom(1 / 1.6, focusTime()));
  on('zoom-out', () => zoom(1.6, focusTime()));
  on('next-hit', () => nextHit(1));
  on('previous-hit', () => nextHit(-1));
  on('earlier', () => { fillLines(firstLine - part); $('story').scrollTop = 0; });
  on('later', () => { fillLines(firstLine + part); $('story').scrollTop = 0; });
  let typed = 0;
  $('search').addEventListener('input', () => {
    clearTimeout(typed);
    typed = setTimeout(() => search($('search').value), count > 20000 ? 150 : 0);
  });
  $('lines').addEventListener('click', (e) => { const li = e.target.closest('li'); if (li) toLine(li); });
  $('lines').addEventListener('keydown', onLineKey);
  for (const t of ['story', 'scenario']) {
    on('tab-' + t, () => tab(t));
    $('tab-' + t).addEventListener('keydown', (e) => {
      if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
      const other = t === 'story' ? 'scenario' : 'story';
      tab(other);
      $('tab-' + other).focus();
      e.preventDefault();
    });
  }
  document.addEventListener('pointerdown', (e) => { if (!$('filters').contains(e.target)) $('filters').open = false; });
  systemDark.addEventListener('change', paintTheme);
  window.addEventListener('hashchange', () => { follow(); showFilters(); });
  new ResizeObserver(() => { measure(); redraw(); }).observe($('picture'));
}

for (const [key, text] of commands) {
  const tr = element('tr');
  const td = element('td');
  for (const k of key.split('  ')) td.append(element('kbd', k), ' ');
  tr.append(td, element('td', text));
  $('help-keys').append(tr);
}
fillHead();
fillFilters();
fillLines(0);
follow();
showFilters();
if (violations.length) {
  turn = 0;
  showLine(run.story.findIndex((l) => l[4] && instantOf(l[1]) === violations[0].at));
}
listen();
cancelAnimationFrame(pending);
pending = 0;
draw();
canvas.focus({ preventScroll: true });
performance.mark('driftlock-ready');
