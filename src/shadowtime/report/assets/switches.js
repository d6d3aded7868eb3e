// Policies are switched on and off for the whole page: tables, charts, maps, lines and points.
function hideRun(i, name, hidden) {
  document.querySelectorAll(`[data-of="${i}"], figure.map[data-run="${i}"], label[for="loser-${i}"]`)
    .forEach((one) => one.toggleAttribute('hidden', hidden));
  document.querySelectorAll('.chart .line').forEach((line) => {
    if (line.dataset.name === name) line.style.display = hidden ? 'none' : '';
  });
  const owners = [['.numbers tbody tr', 'th .name'], ['figure .legend li', '.name']];
  for (const [row, label] of owners) {
    document.querySelectorAll(row).forEach((one) => {
      if (one.querySelector(label)?.textContent === name) one.toggleAttribute('hidden', hidden);
    });
  }
}

function applySwitches(world) {
  world.summary.policies.forEach(({ name }, i) => hideRun(i, name, world.muted.has(i)));
  const open = document.querySelector('input[name="loser"]:checked');
  if (open && world.muted.has(Number(open.id.slice(6)))) {
    const other = [...document.querySelectorAll('input[name="loser"]')].find((one) => !world.muted.has(Number(one.id.slice(6))));
    if (other) other.checked = true;
  }
  document.querySelectorAll('[data-switch]').forEach((button) =>
    button.setAttribute('aria-pressed', String(!world.muted.has(Number(button.dataset.switch)))));
  drawFrontier(world);
}

function toggleRun(world, i) {
  if (!world.muted.delete(i)) {
    if (world.muted.size + 1 === world.summary.policies.length) return; // one stays
    world.muted.add(i);
  }
  applySwitches(world);
  redrawWaits(world);
  rescore(world);
  world.redraw();
  writeState(world);
}

function attachSwitches(world) {
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-switch]');
    if (button) toggleRun(world, Number(button.dataset.switch));
  });
}
