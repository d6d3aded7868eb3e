// What a reader does with the figure: wheel, pinch, drag, keys, search.
function attachInteraction(world) {
  const { view } = world;
  const tip = makeTip(world);
  world.tip = tip;
  world.panels.forEach((panel) => attachPanel(world, panel, tip));
  world.strips.forEach((strip) => attachStrip(world, strip, tip));
  attachOverview(world);
  attachChain(world);
  element('search').addEventListener('submit', (event) => {
    event.preventDefault();
    find(world, element('job').value);
  });
  document.querySelectorAll('[data-zoom]').forEach((button) => button.addEventListener('click', () => {
    const size = view.to - view.from, centre = (view.from + view.to) / 2;
    if (button.dataset.zoom === 'all') view.all();
    else {
      const half = size * (button.dataset.zoom === 'in' ? 0.25 : 1);
      view.glide(centre - half, centre + half);
    }
  }));
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !typing) { event.preventDefault(); element('job').focus(); }
    if (event.key === 'Escape') { choose(world, -1); tip.hide(); }
  });
  addEventListener('scroll', () => tip.scrolled(), { passive: true });
}

function find(world, text, trail) {
  const found = element('found');
  if (world.tip) world.tip.hide();
  const sought = Number(String(text).replace(/[,\s]/g, ''));
  const job = String(text).trim() === '' || !Number.isFinite(sought) ? -1 : world.jobs.id.indexOf(sought);
  found.classList.toggle('missing', job < 0);
  if (job < 0) {
    found.textContent = `no job ${text}`;
    return false;
  }
  const panel = world.panels.find((p) => p.policy >= 0);
  const last = panel.model.runs.last[job];
  const submit = world.jobs.submit[job];
  let end = submit;
  for (const model of world.models) {
    if (model && model.runs.last[job] >= 0) end = Math.max(end, model.runs.end[model.runs.last[job]]);
  }
  const margin = Math.max(60, (end - submit) * 0.35);
  choose(world, job, trail);
  world.view.setRows(0, 1);
  world.view.glide(submit - margin, end + margin);
  found.textContent = last < 0 ? `job ${sought} was not run` : title(world, job);
  return true;
}

function choose(world, job, trail = job < 0 ? [] : [job]) {
  world.chosen = job;
  world.trail = trail;
  showCard(world);
  writeStateSoon(world);
  world.redraw();
}

function attachPanel(world, panel, tip) {
  const { canvas } = panel;
  const { view } = world;
  const held = new Map();
  let moved = 0, apart = 0;
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener('wheel', (event) => {
    const pinch = event.ctrlKey || event.metaKey;
    if (!pinch && document.activeElement !== canvas) { hint('Click the figure to zoom with the wheel.'); return; }
    event.preventDefault();
    const [x, y] = spot(event);
    const step = event.deltaMode === 1 ? 18 : 1;
    const factor = Math.exp(Math.max(-120, Math.min(120, event.deltaY * step)) * (pinch ? 0.01 : 0.003));
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) {
      view.pan((event.deltaX * step * (view.to - view.from)) / canvas.clientWidth);
    } else if (event.shiftKey) {
      const turn = event.deltaY || event.deltaX;
      view.zoomRows(Math.exp(turn * step * 0.003), panel.row(y) / panel.model.layout.rows);
    } else view.zoom(factor, panel.time(x));
  }, { passive: false });

  canvas.addEventListener('pointerdown', (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, spot(event));
    moved = 0;
    apart = 0;
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!held.has(event.pointerId)) { hover(event); return; }
    const before = held.get(event.pointerId), now = spot(event);
    held.set(event.pointerId, now);
    tip.hide();
    if (held.size === 2) { pinched(); return; }
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    view.pan(((before[0] - now[0]) * (view.to - view.from)) / canvas.clientWidth);
    view.panRows(((now[1] - before[1]) * (view.high - view.low)) / canvas.clientHeight);
  });
  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    if (event.type !== 'pointerup' || moved > 4 || apart) return;
    const box = panel.pick(...spot(event));
    choose(world, box < 0 ? -1 : panel.model.runs.job[panel.model.boxes.run[box]]);
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => { tip.hide(); world.point(null); });
  canvas.addEventListener('dblclick', (event) => {
    const at = panel.time(spot(event)[0]), half = (view.to - view.from) / 6;
    view.glide(at - half, at + half);
  });
  canvas.addEventListener('keydown', (event) => keys(world, panel, event));

  function pinched() {
    const [[ax], [bx]] = held.values();
    const distance = Math.max(12, Math.abs(ax - bx));
    if (apart) view.zoom(apart / distance, panel.time((ax + bx) / 2));
    apart = distance;
  }

  function hover(event) {
    const [x, y] = spot(event);
    const box = panel.pick(x, y);
    world.point(panel.time(x));
    canvas.style.cursor = box < 0 ? 'grab' : 'pointer';
    if (box < 0) tip.hide();
    else tip.job(event, panel, box);
  }
}

// The job that starts next (or before) among those in view: the keyboard's way to a job's card.
function step(world, panel, direction) {
  const { runs } = panel.model;
  const { view, scope } = world;
  const seen = (r) => !runs.lost[r] && runs.end[r] > view.from && runs.start[r] < view.to &&
    (!scope.keep || scope.keep[runs.job[r]]);
  const order = runs.byStart;
  const now = world.chosen < 0 ? -1 : order.indexOf(runs.last[world.chosen]);
  let at = now < 0 ? (direction > 0 ? 0 : order.length - 1) : now + direction;
  while (at >= 0 && at < order.length && !seen(order[at])) at += direction;
  if (at < 0 || at >= order.length) return;
  const job = runs.job[order[at]];
  choose(world, job);
  element('found').classList.remove('missing');
  element('found').textContent = title(world, job);
}

function keys(world, panel, event) {
  const { view } = world;
  const size = view.to - view.from, rows = view.high - view.low;
  const moves = {
    ArrowLeft: () => view.pan(-size * 0.15),
    ArrowRight: () => view.pan(size * 0.15),
    ArrowUp: () => view.panRows(rows * 0.15),
    ArrowDown: () => view.panRows(-rows * 0.15),
    '+': () => view.zoom(1 / 1.5),
    '=': () => view.zoom(1 / 1.5),
    '-': () => view.zoom(1.5),
    '0': () => view.all(),
    Home: () => view.all(),
    '[': () => step(world, panel, -1),
    ']': () => step(world, panel, 1),
  };
  for (const [letter, key] of [['w', '+'], ['s', '-'], ['a', 'ArrowLeft'], ['d', 'ArrowRight']]) {
    moves[letter] = moves[key];
    moves[letter.toUpperCase()] = moves[key];
  }
  if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  moves[event.key]();
}

function attachStrip(world, strip, tip) {
  strip.canvas.addEventListener('pointermove', (event) => {
    const x = event.clientX - strip.canvas.getBoundingClientRect().left;
    const time = world.view.from + (x / strip.canvas.clientWidth) * (world.view.to - world.view.from);
    world.point(time);
    tip.values(event, Math.max(0, time), strip.read(x));
  });
  strip.canvas.addEventListener('pointerleave', () => { tip.hide(); world.point(null); });
}

function attachOverview(world) {
  const { canvas } = world.overview;
  const { view } = world;
  const move = (event) => {
    const share = (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
    const at = (share * 1.02 - 0.01) * world.figure.end, half = (view.to - view.from) / 2;
    view.stop();
    view.set(at - half, at + half);
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.dataset.held = '1';
    move(event);
  });
  canvas.addEventListener('pointermove', (event) => { if (canvas.dataset.held) move(event); });
  canvas.addEventListener('pointerup', () => { delete canvas.dataset.held; });
}

let hintTimer = 0;
function hint(text) {
  const shown = element('hint');
  shown.textContent = text;
  shown.hidden = false;
  clearTimeout(hintTimer);
  hintTimer = setTimeout(() => { shown.hidden = true; }, 1400);
}
