// What the reader has chosen, in the address: a link shows another reader exactly the same.
const KEYS = { user: 'user', group: 'account', partition: 'partition', queue: 'qos' };

function stateOf(world) {
  const state = new URLSearchParams();
  const { view, figure, summary, defaults } = world;
  for (const id of ['policy-a', 'policy-b', 'colour']) {
    const select = element(id);
    if (!select || select.value === defaults[id]) continue;
    const policy = summary.policies[Number(select.value)];
    state.set(id, id === 'colour' ? select.value : policy ? policy.name : 'nothing');
  }
  if (!view.isFull()) {
    state.set('from', String(Math.round(view.from)));
    state.set('to', String(Math.round(view.to)));
  }
  if (view.high - view.low < 0.9999) {
    state.set('low', view.low.toFixed(4));
    state.set('high', view.high.toFixed(4));
  }
  for (const [column, value] of world.scope.chosen) state.set(KEYS[column], nameOf(world, column, value));
  if (world.chosen >= 0) state.set('job', String(world.jobs.id[world.chosen]));
  if (world.muted.size) state.set('off', JSON.stringify([...world.muted].map((i) => summary.policies[i].name)));
  const { theme } = document.documentElement.dataset;
  if (theme) state.set('theme', theme);
  return { state, figure };
}

function writeState(world) {
  const text = stateOf(world).state.toString();
  const now = location.hash.slice(1);
  if (text === now || (!text && !now.includes('='))) return; // a link to a section stays as it is
  history.replaceState(null, '', text ? `#${text}` : '#');
}

function writeStateSoon(world) {
  clearTimeout(world.writing);
  world.writing = setTimeout(() => writeState(world), 250);
}

function namesIn(text) {
  try {
    const found = JSON.parse(text || '[]');
    return Array.isArray(found) ? found.map(String) : [];
  } catch {
    return []; // an address that was edited by hand
  }
}

// Puts the page into the state of its address; returns what the address names and the page does not have.
function applyState(world) {
  const hash = location.hash.slice(1);
  const missing = [];
  if (!hash.includes('=')) return missing;
  const state = new URLSearchParams(hash);
  for (const id of ['policy-a', 'policy-b', 'colour']) {
    const select = element(id), wanted = state.get(id);
    if (!select) continue;
    if (wanted === null) { select.value = world.defaults[id]; continue; }
    const option = [...select.options].find((one) => one.value === wanted || one.textContent === wanted);
    if (option) select.value = option.value;
    else missing.push(wanted);
  }
  for (const [column, key] of Object.entries(KEYS)) {
    const wanted = state.get(key);
    const select = element(`filter-${column}`);
    const option = wanted !== null && select && [...select.options].slice(1)
      .find((one) => nameOf(world, column, Number(one.value)) === wanted);
    setFilter(world, column, option ? Number(option.value) : null);
    if (wanted !== null && !option) missing.push(`${key} ${wanted}`);
  }
  world.muted.clear();
  for (const name of namesIn(state.get('off'))) {
    const at = world.summary.policies.findIndex((one) => one.name === name);
    if (at < 0) missing.push(name);
    else if (world.muted.size + 1 < world.summary.policies.length) world.muted.add(at);
  }
  const number = (key, otherwise) => (state.has(key) && Number.isFinite(Number(state.get(key))) ? Number(state.get(key)) : otherwise);
  world.view.stop();
  world.view.set(number('from', world.view.full.from), number('to', world.view.full.to));
  world.view.setRows(number('low', 0), number('high', 1));
  world.chosen = state.has('job') ? world.jobs.id.indexOf(number('job', -1)) : -1;
  world.trail = world.chosen < 0 ? [] : [world.chosen];
  if (state.has('job') && world.chosen < 0) missing.push(`job ${state.get('job')}`);
  if (['light', 'dark'].includes(state.get('theme'))) document.documentElement.dataset.theme = state.get('theme');
  return missing;
}
