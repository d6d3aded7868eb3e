// Step functions over time as running sums, so that the mean over any pixel is two look-ups.
function cumulative(times, weights) {
  const n = times.length;
  const weight = new Float64Array(n + 1), moments = new Float64Array(n + 1);
  for (let i = 0; i < n; i += 1) {
    const w = weights ? weights[i] : 1;
    weight[i + 1] = weight[i] + w;
    moments[i + 1] = moments[i] + w * times[i];
  }
  return { times, weight, moments };
}

// The integral up to t of the sum of all weights that came before.
function integral(sums, t, place) {
  return sums.weight[place] * t - sums.moments[place];
}

// The first place from `at` on whose time lies above t, in steps that double: mostly it is near.
function beyond(times, t, at) {
  let step = 1;
  while (at + step < times.length && times[at + step] <= t) step *= 2;
  return upperBound(times, t, at + (step >> 1), Math.min(times.length, at + step));
}

// Mean of (came - went) in each of `count` equal parts of a span.
function means(came, went, from, to, count) {
  const result = new Float64Array(count);
  const width = (to - from) / count;
  let a = upperBound(came.times, from), b = upperBound(went.times, from);
  let before = integral(came, from, a) - integral(went, from, b);
  for (let i = 0; i < count; i += 1) {
    const t = from + (i + 1) * width;
    a = beyond(came.times, t, a);
    b = beyond(went.times, t, b);
    const now = integral(came, t, a) - integral(went, t, b);
    result[i] = (now - before) / width;
    before = now;
  }
  return result;
}

function picked(column, order) {
  const values = new Float64Array(order.length);
  for (let i = 0; i < order.length; i += 1) values[i] = column[order[i]];
  return values;
}

function buildSeries(world, model) {
  const { runs } = model;
  const byStart = runs.byStart, byEnd = sortedBy(runs.end);
  const starts = picked(runs.start, byStart), ends = picked(runs.end, byEnd);
  const arrivals = new Float64Array(runs.count); // a lost attempt puts its job back into the queue
  for (let r = 0; r < runs.count; r += 1) {
    arrivals[r] = runs.lost[r] ? runs.end[r] : world.jobs.submit[runs.job[r]];
  }
  arrivals.sort();
  const procs = picked(world.jobs.procs, runs.job);
  const weigh = (weights) => [
    cumulative(starts, picked(weights, byStart)), cumulative(ends, picked(weights, byEnd))];
  const made = { queue: [cumulative(arrivals), cumulative(starts)], busy: weigh(procs) };
  if (world.jobs.bandwidth) {
    made.bandwidth = weigh(picked(world.jobs.bandwidth, runs.job).map((each, r) => (each * procs[r]) / 100));
  }
  return made;
}

const STRIPS = {
  queue: { of: 'queue', value: (x) => Math.max(0, x), text: (x) => `${number(Math.round(x * 10) / 10)} jobs` },
  utilisation: {
    of: 'busy', top: () => 100, text: (x) => `${x.toFixed(1)} %`,
    value: (x, world, policy) => (100 * x) / world.figure.rows[policy].procs,
  },
  free: {
    of: 'busy', top: (world) => Math.max(...world.figure.rows.map(({ procs }) => procs)), text: (x) => number(Math.round(x)),
    value: (x, world, policy) => world.figure.rows[policy].procs - x,
  },
  bandwidth: { of: 'bandwidth', value: (x) => Math.max(0, x), text: (x) => `${number(Math.round(x))} MB/s` },
};

function makeStrip(world, canvas) {
  const context = canvas.getContext('2d', { alpha: false });
  const kind = STRIPS[canvas.dataset.series];
  const strip = { canvas };
  let image = null;

  strip.draw = () => {
    const scale = fit(canvas);
    const { width, height } = canvas;
    if (!image || image.width !== width || image.height !== height) image = context.createImageData(width, height);
    const lines = world.series.map((series, policy) => series && series[kind.of] && !world.muted.has(policy) &&
      meansInView(world, series[kind.of], Math.ceil(width / scale)).map((x) => kind.value(x, world, policy)));
    strip.lines = lines;
    let top = kind.top ? kind.top(world) : 1;
    top = Math.max(top, robustTop(lines.map((line) => (line ? line.reduce((most, x) => Math.max(most, x), 0) : NaN))));
    const y = (value) => height - 2 * scale - Math.min(1.1, value / top) * (height - 20 * scale);
    const paint = makePaint(image, rgb(world.theme.panel));
    const grid = rgb(world.theme.grid);
    for (const tick of world.ticks) paint.column(Math.round(xOf(world, tick.at, width)), scale, 0, height, grid);
    for (const value of plainTicks(top, 3)) paint.column(0, width, Math.round(y(value)), Math.round(y(value)) + scale, grid);
    lines.forEach((line, policy) => {
      if (line) paint.line(line, y, scale, rgb(world.theme.policies[policy % POLICY_COLOURS]), policy >= POLICY_COLOURS);
    });
    if (world.pointer !== null) {
      paint.column(Math.round(xOf(world, world.pointer, width)), scale, 0, height, rgb(world.theme.text));
    }
    context.putImageData(image, 0, 0);
    drawLabels(top, y, scale);
  };

  // Labels lie inside, so that all figures share one width; a halo keeps them readable.
  function drawLabels(top, y, scale) {
    context.font = `${11 * scale}px ${world.theme.font}`;
    context.textBaseline = 'bottom';
    for (const value of plainTicks(top, 3).slice(1)) {
      const text = number(value);
      context.fillStyle = world.theme.panel;
      context.fillRect(2 * scale, y(value) - 13 * scale, context.measureText(text).width + 5 * scale, 12 * scale);
      context.fillStyle = world.theme.muted;
      context.fillText(text, 4 * scale, y(value) - scale);
    }
  }

  strip.read = (x) => (strip.lines || []).map((line, policy) =>
    line ? [policy, kind.text(line[Math.min(line.length - 1, Math.max(0, Math.floor(x)))])] : null)
    .filter(Boolean);
  return strip;
}

function xOf(world, time, width) {
  return ((time - world.view.from) / (world.view.to - world.view.from)) * width;
}

// Two strips show the same function: its means are worked out once for a view.
function meansInView(world, sums, count) {
  const { from, to } = world.view;
  const known = sums.known;
  if (known && known.from === from && known.to === to && known.count === count) return known.line;
  sums.known = { from, to, count, line: means(...sums, from, to, count) };
  return sums.known.line;
}

