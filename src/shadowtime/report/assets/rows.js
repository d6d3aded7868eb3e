// One panel: the rows of one policy. Few jobs are drawn one by one, many as tiles.
const DIRECT = 3000;

function makePanel(world, holder) {
  const canvas = holder.querySelector('canvas');
  const context = canvas.getContext('2d', { alpha: false });
  const panel = { holder, canvas, model: null, policy: -1, classes: null, tiles: null, box: -1 };
  const cache = new Map(); // tiles of each policy outlive a change of panel

  panel.show = (policy, mode, theme) => {
    panel.policy = policy;
    holder.hidden = policy < 0;
    if (policy < 0) return;
    panel.model = world.models[policy];
    const key = `${policy}/${mode}/${theme}/${world.scope.key}`;
    if (!cache.has(key)) {
      cache.set(key, {
        classes: classify(world, panel.model, mode),
        tiles: makeTiles(panel.model, world.figure.end),
      });
      if (cache.size > 8) cache.delete(cache.keys().next().value);
    }
    Object.assign(panel, cache.get(key), { key });
    const name = world.summary.policies[policy].name;
    canvas.setAttribute('aria-label', `Gantt chart of ${name}`);
    holder.querySelector('h3').replaceChildren(
      node('i', { class: `swatch ${policyMark(policy)}` }), node('span', { class: 'name', title: name }, name), node('span', { class: 'level' }));
  };

  panel.time = (x) => world.view.from + (x / canvas.clientWidth) * (world.view.to - world.view.from);
  panel.row = (y) => {
    const share = 1 - y / canvas.clientHeight;
    return (world.view.low + share * (world.view.high - world.view.low)) * panel.model.layout.rows;
  };
  panel.load = () => panel.policy >= 0 && !panel.few() && panel.tiles.showsLoad(world.view, canvas.width);
  panel.pick = (x, y) => {
    if (panel.load()) return -1; // a column stacks many jobs: zoom in to point at one
    const slack = ((world.view.to - world.view.from) / canvas.clientWidth) * 1.5;
    return boxAt(panel.model.boxes, panel.time(x), panel.row(y), slack);
  };

  panel.draw = (started) => {
    if (panel.policy < 0) return false;
    const scale = fit(canvas);
    const { width, height } = canvas;
    const { view } = world;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = world.theme.panel;
    context.fillRect(0, 0, width, height);
    const place = {
      x: (time) => ((time - view.from) / (view.to - view.from)) * width,
      y: (row) => height * (1 - (row / panel.model.layout.rows - view.low) / (view.high - view.low)),
      scale,
    };
    drawGrid(place);
    let waiting = false;
    if (panel.few()) drawDirect(place);
    else {
      panel.tiles.configure({
        key: `${panel.key}/${height}/${view.low}/${view.high}`,
        height, low: view.low, high: view.high, classes: panel.classes,
      });
      waiting = panel.tiles.draw(context, view, width, started);
    }
    const load = panel.load();
    holder.querySelector('.level').textContent = load ? 'processors in use; zoom in for single jobs' : '';
    if (!load) drawBands(place);
    drawChosen(place);
    return waiting;
  };

  panel.few = () => {
    const { boxes } = panel.model;
    if (boxesWithin(boxes, world.view.from, world.view.to) > 16 * DIRECT) return false;
    let count = 0;
    eachBox(boxes, world.view.from, world.view.to, () => { count += 1; return count <= DIRECT; });
    return count <= DIRECT;
  };

  function drawGrid(place) {
    context.fillStyle = world.theme.grid;
    for (const tick of world.ticks) context.fillRect(Math.round(place.x(tick.at)), 0, place.scale, canvas.height);
  }

  function drawDirect(place) {
    const { boxes } = panel.model;
    const { colours, of } = panel.classes;
    const gap = place.scale;
    context.font = `${11 * place.scale}px ${world.theme.font}`;
    context.textBaseline = 'middle';
    eachBox(boxes, world.view.from, world.view.to, (box) => {
      const bottom = place.y(boxes.row[box]), top = place.y(boxes.row[box] + boxes.rows[box]);
      if (top > canvas.height || bottom < 0) return;
      const left = Math.max(-9, place.x(boxes.start[box]));
      const right = Math.min(canvas.width + 9, place.x(boxes.end[box]));
      const wide = right - left, tall = bottom - top;
      const inset = (size) => (size > 5 * gap ? gap : size > 2.5 * gap ? gap / 2 : 0);
      context.fillStyle = colours[of[boxes.run[box]]];
      const w = Math.max(gap, wide - inset(wide)), h = Math.max(gap / 2, tall - inset(tall));
      context.fillRect(left, top, w, h);
      if (wide > 46 * gap && tall > 13 * gap) label(box, Math.max(left, 0), top + h / 2, right);
    });
  }

  function label(box, left, middle, right) {
    const text = String(world.jobs.id[panel.model.runs.job[panel.model.boxes.run[box]]]);
    if (right - left < context.measureText(text).width + 8 * devicePixelRatio) return;
    const [red, green, blue] = rgb(context.fillStyle);
    context.fillStyle = red * 0.3 + green * 0.59 + blue * 0.11 > 140 ? '#101418' : '#ffffff';
    context.fillText(text, left + 4 * devicePixelRatio, middle);
  }

  // Hosts apart from each other, and what lies beyond the machine's capacity.
  function drawBands(place) {
    context.fillStyle = world.theme.line;
    const { bands, rows } = panel.model.layout;
    const tall = canvas.height / ((world.view.high - world.view.low) * rows);
    for (const [, row, count, beyond] of bands) {
      if (row && tall * count > 3 * place.scale) {
        context.fillRect(0, Math.round(place.y(row)), canvas.width, place.scale);
      }
      if (!beyond) continue;
      const top = place.y(row + count), bottom = place.y(row + count - beyond);
      context.save();
      context.globalAlpha = 0.35;
      context.fillRect(0, top, canvas.width, bottom - top);
      context.restore();
    }
  }

  // The job that was found or clicked: from its submission on a thin line to its boxes.
  function drawChosen(place) {
    const job = world.chosen;
    if (job < 0) return;
    const { boxes, runs } = panel.model;
    const submit = place.x(world.jobs.submit[job]);
    const last = runs.last[job];
    context.fillStyle = world.theme.text;
    context.fillRect(submit, 0, place.scale, canvas.height);
    if (last < 0) return;
    const until = Math.max(runs.end[last], world.jobs.submit[job]) + 1;
    eachBox(boxes, world.jobs.submit[job] - 1, until, (box) => {
      if (runs.job[boxes.run[box]] !== job) return;
      const left = place.x(boxes.start[box]), right = place.x(boxes.end[box]);
      const bottom = place.y(boxes.row[box]), top = place.y(boxes.row[box] + boxes.rows[box]);
      const wide = Math.max(right - left, 6 * place.scale), tall = Math.max(bottom - top, 6 * place.scale);
      const middle = (top + bottom) / 2;
      const halo = [[world.theme.panel, 5], [world.theme.text, 2.5]];
      for (const [colour, thick] of halo) {
        context.strokeStyle = colour;
        context.lineWidth = thick * place.scale;
        context.beginPath();
        if (left > submit) { context.moveTo(submit, middle); context.lineTo(left, middle); }
        context.rect(left, middle - tall / 2, wide, tall);
        context.stroke();
      }
    });
  }
  return panel;
}

// Matches a canvas to its place on the page in device pixels; returns pixels per CSS pixel.
function fit(canvas) {
  const scale = Math.min(devicePixelRatio || 1, 2);
  const width = Math.max(1, Math.round(canvas.clientWidth * scale));
  const height = Math.max(1, Math.round(canvas.clientHeight * scale));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  return scale;
}
