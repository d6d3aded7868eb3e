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

// Mean of (came - went) in each of `count` equal parts of a span.
function means(came, went, from, to, count) {
  const result = new Float64Array(count);
  const width = (to - from) / count;
  let a = upperBound(came.times, from), b = upperBound(went.times, from);
  let before = integral(came, from, a) - integral(went, from, b);
  for (let i = 0; i < count; i += 1) {
    const t = from + (i + 1) * width;
    a = upperBound(came.times, t, a);
    b = upperBound(went.times, t, b);
    const now = integral(came, t, a) - integral(went, t, b);
    result[i] = (now - before) / width;
    before = now;
  }
  return result;
}

function buildSeries(world, model) {
  const { runs } = model;
  const pick = (column, order) => Float64Array.from(order, (r) => column[r]);
  const byStart = sortedBy(runs.start), byEnd = sortedBy(runs.end);
  const starts = pick(runs.start, byStart), ends = pick(runs.end, byEnd);
  const arrivals = new Float64Array(runs.count); // a lost attempt puts its job back into the queue
  for (let r = 0; r < runs.count; r += 1) {
    arrivals[r] = runs.lost[r] ? runs.end[r] : world.jobs.submit[runs.job[r]];
  }
  arrivals.sort();
  const weigh = (of) => [
    cumulative(starts, Float64Array.from(byStart, (r) => of(runs.job[r]))),
    cumulative(ends, Float64Array.from(byEnd, (r) => of(runs.job[r]))),
  ];
  const made = { queue: [cumulative(arrivals), cumulative(starts)], busy: weigh((j) => world.jobs.procs[j]) };
  if (world.jobs.bandwidth) {
    made.bandwidth = weigh((j) => (world.jobs.procs[j] * world.jobs.bandwidth[j]) / 100);
  }
  return made;
}

const STRIPS = {
  queue: { of: 'queue', value: (x) => Math.max(0, x), text: (x) => `${number(Math.round(x * 10) / 10)} jobs` },
  utilisation: {
    of: 'busy', top: () => 100, text: (x) => `${x.toFixed(1)} %`,
    value: (x, world) => (100 * x) / world.figure.procs,
  },
  free: {
    of: 'busy', top: (world) => world.figure.procs, text: (x) => number(Math.round(x)),
    value: (x, world) => world.figure.procs - x,
  },
  bandwidth: { of: 'bandwidth', value: (x) => Math.max(0, x), text: (x) => `${number(Math.round(x))} MB/s` },
};

function makeStrip(world, canvas) {
  const context = canvas.getContext('2d');
  const kind = STRIPS[canvas.dataset.series];
  const strip = { canvas };

  strip.draw = () => {
    const scale = fit(canvas);
    const { width, height } = canvas;
    context.fillStyle = world.theme.panel;
    context.fillRect(0, 0, width, height);
    const lines = world.series.map((series) => series && series[kind.of] &&
      means(...series[kind.of], world.view.from, world.view.to, Math.ceil(width / scale))
        .map((x) => kind.value(x, world)));
    strip.lines = lines;
    let top = kind.top ? kind.top(world) : 1;
    for (const line of lines) if (line) for (const x of line) if (x > top) top = x;
    const y = (value) => height - 2 * scale - (value / top) * (height - 20 * scale);
    drawGrid(top, y, scale);
    lines.forEach((line, policy) => { if (line && !world.muted.has(policy)) drawLine(line, policy, y, scale); });
    drawLabels(top, y, scale);
    if (world.pointer !== null) {
      context.fillStyle = world.theme.text;
      const x = ((world.pointer - world.view.from) / (world.view.to - world.view.from)) * width;
      context.fillRect(x, 0, scale, height);
    }
  };

  function drawGrid(top, y, scale) {
    context.fillStyle = world.theme.grid;
    for (const tick of world.ticks) {
      const x = ((tick.at - world.view.from) / (world.view.to - world.view.from)) * canvas.width;
      context.fillRect(Math.round(x), 0, scale, canvas.height);
    }
    for (const value of plainTicks(top, 3)) context.fillRect(0, Math.round(y(value)), canvas.width, scale);
  }

  // Labels lie inside, so that all figures share one width; a halo keeps them readable.
  function drawLabels(top, y, scale) {
    context.font = `${11 * scale}px ${world.theme.font}`;
    context.textBaseline = 'bottom';
    context.lineWidth = 4 * scale;
    context.strokeStyle = world.theme.panel;
    context.fillStyle = world.theme.muted;
    for (const value of plainTicks(top, 3).slice(1)) {
      context.strokeText(number(value), 4 * scale, y(value) - scale);
      context.fillText(number(value), 4 * scale, y(value) - scale);
    }
  }

  function drawLine(line, policy, y, scale) {
    context.beginPath();
    context.lineWidth = 1.5 * scale;
    context.lineJoin = 'round';
    context.strokeStyle = world.theme.policies[policy % 8];
    for (let i = 0; i < line.length; i += 1) {
      const value = y(line[i]);
      if (i) context.lineTo((i + 0.5) * scale, value);
      else context.moveTo(0, value);
    }
    context.stroke();
  }

  strip.read = (x) => (strip.lines || []).map((line, policy) =>
    line ? [policy, kind.text(line[Math.min(line.length - 1, Math.max(0, Math.floor(x)))])] : null)
    .filter(Boolean);
  return strip;
}

// The whole span at a glance, with the part in sight marked.
function makeOverview(world, canvas) {
  const context = canvas.getContext('2d');
  let picture = null, key = '';
  return {
    canvas,
    draw() {
      const scale = fit(canvas);
      const { width, height } = canvas;
      const policy = world.panels[0].policy;
      const series = world.series[policy];
      const next = `${width}/${height}/${policy}/${world.theme.name}/${Boolean(series)}`;
      if (key !== next) {
        key = next;
        picture = document.createElement('canvas');
        picture.width = width;
        picture.height = height;
        const paint = picture.getContext('2d');
        paint.fillStyle = world.theme.panel;
        paint.fillRect(0, 0, width, height);
        paint.fillStyle = world.theme.muted;
        const line = series ? means(...series.busy, -world.figure.end * 0.01, world.figure.end * 1.01, width) : [];
        paint.globalAlpha = 0.55;
        line.forEach((busy, x) => {
          const tall = (Math.min(busy / world.figure.procs, 1)) * height;
          paint.fillRect(x, height - tall, 1, tall);
        });
      }
      context.drawImage(picture, 0, 0);
      const x = (time) => ((time + world.figure.end * 0.01) / (world.figure.end * 1.02)) * width;
      const left = x(world.view.from), right = Math.max(x(world.view.to), left + 2 * scale);
      context.fillStyle = world.theme.shade;
      context.fillRect(0, 0, left, height);
      context.fillRect(right, 0, width - right, height);
      context.fillStyle = world.theme.accent;
      context.fillRect(left - scale, 0, 2 * scale, height);
      context.fillRect(right - scale, 0, 2 * scale, height);
    },
  };
}
