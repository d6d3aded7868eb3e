// Starts the board: from the page itself, or from the server that sent it.
const EMPTY = { format: '', version: -1, jobs: [], nodes: [], totals: { cpus: 0, cpus_used: 0, nodes: 0, nodes_usable: 0, running: 0, waiting: 0 }, polled: -1, estimated: -1, every: 2, hidden: [], unknown: [], problem: '' };

// What is ahead is veiled, and names of nodes lie on their rows.
function overlay(world, canvas, names) {
  const context = canvas.getContext('2d'), scale = Math.min(devicePixelRatio || 1, 2);
  const x = xOf(world, clock() - world.origin, canvas.width);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  if (x < canvas.width) {
    context.globalAlpha = 0.38;
    context.fillStyle = world.theme.panel;
    context.fillRect(Math.max(0, x), 0, canvas.width, canvas.height);
    context.globalAlpha = 1;
    context.fillStyle = world.theme.accent;
    context.fillRect(x - scale, 0, 2 * scale, canvas.height);
  }
  if (names) {
    const { rows, bands } = world.models[0].layout;
    const y = (row) => canvas.height * (1 - (row / rows - world.view.low) / (world.view.high - world.view.low));
    context.font = `${11 * scale}px ${world.theme.font}`;
    context.textBaseline = 'middle';
    let free = Infinity;
    for (const [host, row, count] of bands) {
      const { usable, state } = board.nodes.get(host), name = usable ? host : `${host}: ${state}`;
      const middle = (y(row) + y(row + count)) / 2;
      if (middle < 0 || middle > canvas.height || free - middle < 13 * scale) continue;
      free = middle;
      context.globalAlpha = 0.75;
      context.fillStyle = world.theme.panel;
      context.fillRect(0, middle - 6.5 * scale, context.measureText(name).width + 8 * scale, 13 * scale);
      context.globalAlpha = 1;
      context.fillStyle = world.theme.muted;
      context.fillText(name, 4 * scale, middle);
    }
  }
  context.restore();
}

// The span that is shown first: as far ahead as most starts are expected, and as much of the past.
function usualSpan(world) {
  const ends = [...board.jobs.values()].filter((job) => startOf(job) >= 0).map((job) => (job.state === 'waiting' ? job.expected : endOf(job)) - clock()).sort((a, b) => a - b);
  const ahead = Math.min(DAY, Math.max(600, ends.length ? ends[Math.floor(0.9 * (ends.length - 1))] * 1.2 : 0));
  const begins = [...board.past.values(), ...board.jobs.values()].filter((job) => job.state !== 'waiting' && job.start >= 0).map((job) => job.start);
  const first = begins.length ? clock() - begins.reduce((low, at) => Math.min(low, at), Infinity) : 0;
  const behind = Math.min(DAY, Math.max(600, Math.min(ahead, first * 1.1)));
  return [clock() - world.origin - behind, clock() - world.origin + ahead];
}

function rebuild(world) {
  const made = columnsOf(world.origin);
  world.drawn = made.drawn;
  const layout = layoutOf();
  const ends = made.runs.end.reduce((top, at) => Math.max(top, at), clock() - world.origin + 3600);
  world.figure.end = Math.max(world.figure.end, Math.min(ends, DAY * 8));
  Object.assign(world.view.full, { from: -world.figure.end * 0.01, to: world.figure.end * 1.01 });
  world.jobs = { id: made.drawn.map((job) => job.id), submit: Float64Array.from(made.drawn, (job) => (job.submit >= 0 ? job.submit : startOf(job)) - world.origin), procs: made.procs };
  const boxes = boxesOf({ procs: made.procs }, made.columns, made.runs, layout);
  world.models[0] = { columns: made.columns, layout, runs: made.runs, boxes, last: made.runs.last, jobs: made.drawn };
  world.figure.rows = [layout];
  world.series[0] = seriesOf(made, world.origin);
  world.scope.keep = queue.text ? Uint8Array.from(made.drawn, (job) => matches(job, queue.text)) : null;
  world.scope.key = `${queue.text}/${world.built += 1}`;
  world.chosen = world.jobs.id.indexOf(world.chosenId);
  world.panels[0].show(0, element('colour').value, world.theme.name);
  world.panels[0].holder.querySelector('h3').replaceChildren(node('span', {}, 'Nodes'), node('span', { class: 'level' }));
  element('legend').replaceChildren(...world.panels[0].classes.labels.map((label, i) =>
    node('li', {}, node('i', { class: 'swatch', style: `background:${world.panels[0].classes.colours[i]}` }), label)));
}

function makeFigure(world) {
  world.origin = Math.floor(clock()) - DAY;
  world.summary = { policies: [{ name: 'the cluster' }] };
  const east = -new Date().getTimezoneOffset() * 60;
  world.figure = { end: DAY * 1.02, epoch: world.origin + east, zone: '', rows: [], names: {}, resources: [] };
  Object.assign(world, { models: [], series: [], muted: new Set(), built: 0, scope: { keep: null, key: '' }, following: true, theme: currentTheme() });
  frameLoop(world);
  world.looked = () => { if (!world.sliding) world.following = false; writeStateSoon(world); };
  world.view = makeView(world.figure.end, world.moved);
  world.point = (at) => { if (at !== world.pointer) { world.pointer = at; world.strips.forEach((strip) => strip.draw()); } };
  world.slide = () => { world.sliding = true; world.view.set(...usualSpan(world)); world.sliding = false; };
  world.strips = [...document.querySelectorAll('canvas.strip')].map((canvas) => makeStrip(world, canvas));
  const panel = makePanel(world, document.querySelector('[data-panel]'));
  for (const one of [panel, ...world.strips]) {
    const draw = one.draw;
    one.draw = (started) => { const waiting = draw(started); overlay(world, one.canvas, one === panel); return waiting; };
  }
  world.panels = [panel];
  world.tip = makeTip(world);
  rebuild(world);
  attachPanel(world, panel, world.tip);
  world.strips.forEach((strip) => attachStrip(world, strip, world.tip));
  document.querySelectorAll('[data-zoom]').forEach((button) => button.addEventListener('click', () => {
    const { view } = world, wide = view.to - view.from, kind = button.dataset.zoom;
    if (kind === 'all') view.all();
    else if (kind === 'now') { world.following = true; world.view.setRows(0, 1); world.slide(); world.following = true; writeState(world); }
    else view.zoom(kind === 'in' ? 0.5 : 2, (view.from + wide / 2));
  }));
  element('colour').addEventListener('change', () => { rebuild(world); world.redraw(); writeState(world); });
  addEventListener('scroll', () => world.tip.scrolled(), { passive: true });
  new ResizeObserver(world.redraw).observe(element('figure'));
  watchVisible(world);
}

async function start() {
  const inPage = element('state');
  board.served = !inPage;
  const world = { chosen: -1, chosenId: '', pointer: null, hidden: new Set(), ticks: [], frames: 0, redraw: () => {} };
  takeState(inPage ? JSON.parse(inPage.textContent) : EMPTY);
  if (inPage) takeHistory(JSON.parse(element('history').textContent));
  else try { takeState(await fetched('state')); } catch { /* nothing was polled yet: it comes as an event */ }
  const figure = element('figure'), table = element('jobs');
  let due = 0;
  const draw = () => {
    due = 0;
    positions();
    drawNow(world);
    if (table) drawTable(world);
    if (figure) { rebuild(world); if (world.following) world.slide(); world.redraw(); }
    if (table) drawCard(world);
    world.draws = (world.draws || 0) + 1;
  };
  const changed = () => { if (!due) due = setTimeout(draw, 50); };
  world.pick = (id, jump) => {
    world.chosenId = id;
    world.why = null;
    if (figure) {
      world.chosen = world.jobs.id.indexOf(id);
      if (jump && world.chosen >= 0) {
        const { start: begin, end } = world.models[0].runs, margin = Math.max(300, end[world.chosen] - begin[world.chosen]);
        if (begin[world.chosen] < world.view.from || end[world.chosen] > world.view.to) world.view.glide(begin[world.chosen] - margin, end[world.chosen] + margin);
      }
    }
    drawTable(world);
    drawCard(world);
    if (id) askWhy(world, id);
    if (jump) element('card').focus({ preventScroll: false });
    writeState(world);
    world.redraw();
  };
  if (figure) makeFigure(world);
  if (table) readState(world);
  world.theme = currentTheme();
  if (table) attachQueue(world, () => { draw(); writeState(world); });
  attachTheme(() => { world.theme = currentTheme(); draw(); writeState(world); });
  attachContents();
  if (element('share')) attachShare(world);
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !typing && table) { event.preventDefault(); element('job').focus(); }
    if (event.key === 'Escape' && world.chosenId) world.pick('', false);
  });
  draw();
  if (world.chosenId) askWhy(world, world.chosenId);
  addEventListener('hashchange', () => { if (table && location.hash.includes('=')) { readState(world); draw(); if (world.chosenId) askWhy(world, world.chosenId); } });
  if (inPage) { if (element('scores-data')) drawScores(JSON.parse(element('scores-data').textContent)); return world; }
  follow(changed, (lost = true) => { world.lost = lost; drawAge(world); });
  setInterval(() => { drawAge(world); if (figure && world.following) { world.slide(); world.redraw(); } }, 1000);
  if (figure) fetched('history').then((found) => { takeHistory(found); changed(); }).catch(() => {});
  if (element('scores')) {
    const renew = () => fetched('scores').then(drawScores).catch(() => {});
    renew();
    setInterval(renew, 30000);
  }
  return world;
}

const api = { board, queue, takeChanges };
window.shadowtime = api;
api.ready = start().then((world) => {
  api.world = world;
  document.documentElement.dataset.ready = '1';
  performance.mark('ready');
  return true;
}).catch((error) => {
  element('problem').hidden = false;
  element('problem').textContent = `The board cannot be drawn: ${error.message}`;
  throw error;
});
