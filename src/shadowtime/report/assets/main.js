// Reads the data and builds the figure.
function legendOf(world) {
  const shown = new Map();
  for (const panel of world.panels) {
    if (panel.policy < 0) continue;
    panel.classes.labels.forEach((label, i) => shown.set(label, panel.classes.colours[i]));
  }
  element('legend').replaceChildren(...[...shown].map(([label, colour]) =>
    node('li', {}, node('i', { class: 'swatch', style: `background:${colour}` }), label)));
  element('policies').replaceChildren(...world.summary.policies.map(({ name }, i) => {
    const button = node('button', { type: 'button', title: `show or hide ${name}`, 'data-switch': i, 'aria-pressed': String(!world.muted.has(i)) },
      node('i', { class: `swatch ${policyMark(i)}` }), node('span', { class: 'name' }, name));
    return node('li', {}, button);
  }));
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
  const world = { chosen: -1, trail: [], pointer: null, muted: new Set(), hidden: new Set(), ticks: [], series: [], frames: 0 };
  frameLoop(world);
  world.looked = () => { rescoreSoon(world); writeStateSoon(world); };
  world.point = (time) => {
    if (time === world.pointer) return;
    world.pointer = time;
    for (const strip of world.strips) strip.draw();
  };
  await load(world);
  world.scope = makeScope(world);
  world.defaults = Object.fromEntries(['policy-a', 'policy-b', 'colour']
    .map((id) => [id, element(id) ? element(id).value : '']));
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
  world.changed = async () => {
    world.tip.hide();
    await world.show();
    redrawCharts(world);
    rescore(world);
    writeState(world);
  };
  for (const id of ['policy-a', 'policy-b', 'colour']) {
    if (element(id)) element(id).addEventListener('change', async () => { await world.show(); writeState(world); });
  }
  attachFilters(world, world.changed);
  attachSwitches(world);
  const missing = applyState(world);
  if (missing.length) {
    element('found').classList.add('missing');
    element('found').textContent = `This page does not have what the link asks for: ${missing.join(', ')}.`;
  }
  world.theme = currentTheme();
  await world.show();
  attachFrontier(world);
  attachInteraction(world);
  attachDistributions(world.tip);
  attachTheme((now) => {
    world.theme = currentTheme();
    if (!now) { world.show(); writeState(world); return; }
    world.dress(); // a printer does not wait
    drawFrame(world);
  });
  new ResizeObserver(world.redraw).observe(element('figure'));
  watchVisible(world);
  await loadRest(world);
  attachExports(world);
  attachShare(world);
  attachContents();
  if (world.scope.chosen.size) redrawCharts(world);
  if (world.muted.size) { applySwitches(world); redrawWaits(world); }
  rescore(world);
  showCard(world);
  addEventListener('hashchange', async () => {
    if (!location.hash.includes('=')) return;
    applyState(world);
    world.theme = currentTheme();
    await world.changed();
    showCard(world);
  });
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
const api = { decompressed, fromBase64, readColumns, why, find, redrawCharts, tableCsv, linesCsv, stripCsv, panelCsv, frontierCsv, drawingPicture, tablePicture };
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
