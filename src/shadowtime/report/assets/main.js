// Reads the data, builds the figure and draws a frame whenever something changed.
function legendOf(world) {
  const shown = new Map();
  for (const panel of world.panels) {
    if (panel.policy < 0) continue;
    panel.classes.labels.forEach((label, i) => shown.set(label, panel.classes.colours[i]));
  }
  element('legend').replaceChildren(...[...shown].map(([label, colour]) =>
    node('li', {}, node('i', { class: 'swatch', style: `background:${colour}` }), label)));
  element('policies').replaceChildren(...world.summary.policies.map(({ name }, i) => {
    const button = node('button', { type: 'button', title: name, 'aria-pressed': String(!world.muted.has(i)) },
      node('i', { class: `swatch p${i % 8}` }), node('span', { class: 'name' }, name));
    button.addEventListener('click', () => {
      if (!world.muted.delete(i)) world.muted.add(i);
      button.setAttribute('aria-pressed', String(!world.muted.has(i)));
      world.redraw();
    });
    return node('li', {}, button);
  }));
}

function drawAxis(world) {
  const canvas = element('axis'), context = canvas.getContext('2d');
  const scale = fit(canvas);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.font = `${11.5 * scale}px ${world.theme.font}`;
  context.textBaseline = 'top';
  context.fillStyle = world.theme.muted;
  let free = -Infinity;
  for (const tick of world.ticks) {
    const x = ((tick.at - world.view.from) / (world.view.to - world.view.from)) * canvas.width;
    const wide = context.measureText(tick.label).width;
    const left = Math.min(Math.max(x - wide / 2, 0), canvas.width - wide);
    if (left < free) continue;
    context.fillText(tick.label, left, 5 * scale);
    free = left + wide + 10 * scale;
  }
}

// A slow machine draws the strips in every fourth frame while things move, and all of them at rest.
const SLOW = 22; // milliseconds between frames

function drawFrame(world, { strips = true } = {}) {
  const started = performance.now();
  const room = Math.max(2, Math.floor(element('axis').clientWidth / 110));
  world.ticks = timeTicks(world.view.from, world.view.to, room, world.figure.epoch);
  let waiting = false;
  const printing = document.documentElement.dataset.printing;
  const seen = ({ canvas }) => printing || !world.hidden.has(canvas);
  for (const panel of world.panels.filter(seen)) waiting = panel.draw(started) || waiting;
  drawAxis(world);
  world.overview.draw();
  if (strips) for (const strip of world.strips.filter(seen)) strip.draw();
  return waiting;
}

function frameLoop(world) {
  let pending = false, moved = false, last = 0, pace = 16;
  const frame = (now) => {
    pending = false;
    if (now - last < 300) pace += (now - last - pace) / 5;
    last = now;
    world.frames += 1;
    const strips = !moved || pace < SLOW || world.frames % 4 === 0;
    moved = false;
    if (drawFrame(world, { strips }) || !strips) ask();
  };
  const ask = () => {
    if (pending || !world.panels) return;
    pending = true;
    requestAnimationFrame(frame);
  };
  world.redraw = ask;
  world.moved = () => { moved = true; ask(); };
}

// What is scrolled out of sight is not drawn until it comes back.
function watchVisible(world) {
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) world.hidden.delete(target);
      else world.hidden.add(target);
    }
    world.redraw();
  }, { rootMargin: '120px' });
  for (const { canvas } of [...world.panels, ...world.strips]) observer.observe(canvas);
}

async function loadModel(world, policy) {
  if (world.models[policy]) return;
  const columns = await readColumns(`policy-${policy}`);
  world.models[policy] = buildModel(world.jobs, columns, world.figure.rows[policy]);
}

// The policies in sight come first; the others follow the first picture.
async function load(world) {
  world.summary = JSON.parse(element('summary').textContent);
  world.figure = world.summary.figure;
  world.jobs = await readColumns('jobs');
  world.models = world.summary.policies.map(() => null);
  for (const id of ['policy-a', 'policy-b']) {
    const chosen = element(id) ? Number(element(id).value) : -1;
    if (chosen >= 0) await loadModel(world, chosen);
  }
}

async function start() {
  attachCopy();
  const world = { chosen: -1, pointer: null, muted: new Set(), hidden: new Set(), ticks: [], series: [], frames: 0 };
  frameLoop(world);
  world.point = (time) => {
    if (time === world.pointer) return;
    world.pointer = time;
    for (const strip of world.strips) strip.draw();
  };
  await load(world);
  attachDistributions(world.summary);
  world.theme = currentTheme();
  world.view = makeView(world.figure.end, world.moved);
  const panels = [...document.querySelectorAll('[data-panel]')].map((holder) => makePanel(world, holder));
  world.strips = [...document.querySelectorAll('canvas.strip')].map((canvas) => makeStrip(world, canvas));
  world.overview = makeOverview(world, element('overview'));
  world.show = async () => {
    const second = element('policy-b');
    await loadModel(world, Number(element('policy-a').value));
    if (second && Number(second.value) >= 0) await loadModel(world, Number(second.value));
    world.dress();
  };
  world.dress = () => {
    const second = element('policy-b');
    panels[0].show(Number(element('policy-a').value), element('colour').value, world.theme.name);
    panels[1].show(second ? Number(second.value) : -1, element('colour').value, world.theme.name);
    world.panels = panels;
    legendOf(world);
    world.redraw();
  };
  for (const id of ['policy-a', 'policy-b', 'colour']) {
    if (element(id)) element(id).addEventListener('change', world.show);
  }
  await world.show();
  attachHands(world);
  attachTheme((now) => {
    world.theme = currentTheme();
    if (!now) { world.show(); return; }
    world.dress(); // a printer does not wait
    drawFrame(world);
  });
  new ResizeObserver(world.redraw).observe(element('figure'));
  watchVisible(world);
  await loadRest(world);
  return world;
}

// The lines over time need more sorting: after the first picture, policy by policy.
async function loadRest(world) {
  for (let i = 0; i < world.models.length; i += 1) {
    await new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); });
    await loadModel(world, i);
    world.series[i] = buildSeries(world, world.models[i]);
    world.redraw();
  }
}

// What a test or a curious reader may use from the console.
const api = { decompressed, fromBase64, inflate, readColumns, why, find };
window.shadowtime = api;
api.ready = start().then((world) => {
  api.world = world;
  document.documentElement.dataset.ready = '1';
  performance.mark('ready');
  return true;
}).catch((error) => {
  element('found').textContent = `The figure cannot be drawn: ${error.message}`;
  throw error;
});
