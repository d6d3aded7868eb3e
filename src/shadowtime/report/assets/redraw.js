// Charts that were drawn for all jobs, drawn again for the jobs that pass the filters.
const FRAME = { width: 560, left: 46, right: 14, top: 12, bottom: 34 };

const SPAN_STEPS = [[1, [0.25, 0.5, 1, 2, 3, 5, 10, 15]], [60, [0.5, 1, 2, 3, 5, 10, 15, 30]], [3600, [1, 2, 3, 4, 6, 12]],
  [86400, [1, 2, 3, 4, 5]]].flatMap(([unit, ks]) => ks.map((k) => k * unit)); // as in page/difference.py

function shortSpan(seconds) {
  for (const [size, unit] of [[86400, 'd'], [3600, 'h'], [60, 'min']]) {
    if (seconds >= size) {
      const value = seconds / size;
      return `${value < 10 && size > 60 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
    }
  }
  return seconds >= 0.5 ? `${seconds.toFixed(0)} s` : '0';
}

function heatStep(value, low, top) {
  if (value <= low || top <= low) return 'h0';
  return `h${Math.min(8, Math.floor((9 * Math.log(value / low)) / Math.log(top / low)))}`;
}

function changeStep(gap, top) {
  const size = Math.abs(gap);
  if (size < 60) return 'even';
  const share = top > 60 ? Math.sqrt(size / top) : 1;
  return `${gap < 0 ? 'gain' : 'loss'}-${Math.min(4, 1 + Math.floor(4 * share))}`;
}

// Mean wait and jobs by run time and size under one policy.
function cellsOf(world, policy) {
  const { columns } = world.models[policy];
  const wide = world.figure.sizes.length, cells = wide * world.figure.lengths.length;
  const jobs = new Float64Array(cells), total = new Float64Array(cells);
  const { size, length } = world.jobs;
  for (let i = 0; i < size.length; i += 1) {
    if (!columns.done[i] || (world.scope.keep && !world.scope.keep[i])) continue;
    const at = length[i] * wide + size[i];
    jobs[at] += 1;
    total[at] += columns.wait[i];
  }
  return { jobs, mean: total.map((sum, at) => sum / jobs[at]) };
}

function eachCell(world, holder, visit) {
  holder.querySelectorAll('figure.map').forEach((figure) => {
    const sizes = [...figure.querySelectorAll('thead th')].slice(1)
      .map((th) => world.figure.sizes.indexOf(th.textContent));
    figure.querySelectorAll('tbody tr').forEach((row) => {
      const length = world.figure.lengths.indexOf(row.querySelector('th').textContent);
      row.querySelectorAll('td').forEach((td, i) =>
        visit(td, Number(figure.dataset.run), length * world.figure.sizes.length + sizes[i]));
    });
  });
}

function dress(td, kind, text, title) {
  td.className = kind;
  td.textContent = text;
  if (title) td.title = title;
  else td.removeAttribute('title');
}

function redrawMaps(world) {
  const cells = world.models.map((_, policy) => cellsOf(world, policy));
  const heat = element('heat'), gaps = element('difference-maps');
  if (heat) {
    const low = Number(heat.dataset.low), top = Number(heat.dataset.top);
    eachCell(world, heat, (td, policy, at) => {
      const { jobs, mean } = cells[policy];
      if (!jobs[at]) dress(td, '', '');
      else dress(td, heatStep(mean[at], low, top), shortSpan(mean[at]), `${number(jobs[at])} jobs, mean wait ${span(mean[at])}`);
    });
  }
  if (gaps) {
    eachCell(world, gaps, (td, policy, at) => {
      const { jobs, mean } = cells[policy], before = cells[0].mean[at], gap = mean[at] - before;
      if (!Number.isFinite(gap)) { dress(td, '', ''); return; }
      const shown = shortSpan(Math.abs(gap));
      dress(td, changeStep(gap, Number(gaps.dataset.top)), shown === '0' ? '0' : `${gap > 0 ? '+' : MINUS}${shown}`,
        `${number(jobs[at])} jobs, mean wait ${span(before)} to ${span(mean[at])}`);
    });
  }
}

// Five ticks from 0 to a round number of minutes, hours or days.
function spanTicks(top) {
  const days = top / 86400 / 4, power = 86400 * 10 ** Math.floor(Math.log10(days));
  const step = SPAN_STEPS.find((size) => 4 * size >= top) ||
    [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((k) => k * power).find((size) => size >= 86400 * days * (1 - 1e-12));
  return [0, 1, 2, 3, 4].map((k) => step * k);
}

function meansBySubmission(world, policy, count, begin, end) {
  const { columns } = world.models[policy];
  const jobs = new Float64Array(count), total = new Float64Array(count);
  const { submit } = world.jobs;
  for (let i = 0; i < submit.length; i += 1) {
    if (!columns.done[i] || (world.scope.keep && !world.scope.keep[i])) continue;
    const at = Math.min(count - 1, Math.floor(((submit[i] + world.figure.origin - begin) / (end - begin)) * count));
    jobs[at] += 1;
    total[at] += columns.wait[i];
  }
  return Array.from(total, (sum, at) => sum / jobs[at]); // nan where there is none
}

function redrawLines(figure, lines, ticks, label) {
  const drawing = figure.querySelector('svg');
  const { height } = drawing.viewBox.baseVal;
  const left = 64, wide = FRAME.width - left - FRAME.right;
  const low = ticks[0], high = ticks[ticks.length - 1];
  const y = (value) => FRAME.top + (1 - Math.min(1, Math.max(0, (value - low) / (high - low)))) * (height - FRAME.top - FRAME.bottom);
  drawing.querySelectorAll('text.value').forEach((text, i) => { text.textContent = label(ticks[i]); });
  drawing.querySelectorAll('.line').forEach((line, i) => {
    line.dataset.values = lines[i].map((value) => (Number.isFinite(value) ? value.toPrecision(6) : '-')).join(' ');
    line.setAttribute('points', lines[i].map((value, k) => (Number.isFinite(value)
      ? `${(left + ((k + 0.5) / lines[i].length) * wide).toFixed(1)},${y(value).toFixed(1)}` : '')).filter(Boolean).join(' '));
  });
}

function redrawWaits(world) {
  const waits = document.querySelector('figure.waits'), gaps = document.querySelector('figure.gaps');
  if (!waits) return;
  const begin = Number(waits.dataset.begin), end = Number(waits.dataset.end);
  const count = waits.querySelector('.line').dataset.values.split(' ').length;
  const lines = world.models.map((_, policy) => meansBySubmission(world, policy, count, begin, end));
  const seen = (all, first) => all.map((line, i) => (world.muted.has(i + first) ? NaN
    : Math.max(0, ...line.filter(Number.isFinite).map(Math.abs))));
  const most = (all, first) => robustTop(seen(all, first));
  redrawLines(waits, lines, spanTicks(most(lines, 0)), (value) => (value ? span(value) : '0'));
  if (!gaps) return;
  const less = lines.slice(1).map((line) => line.map((value, k) => value - lines[0][k]));
  const ticks = spanTicks(most(less, 1));
  redrawLines(gaps, less, [-ticks[4], -ticks[2], 0, ticks[2], ticks[4]],
    (value) => (value ? `${value > 0 ? '+' : ''}${span(value)}` : '0'));
}

function redrawDistributions(world) {
  document.querySelectorAll('figure.cdf').forEach((figure) => {
    const low = Number(figure.dataset.low), high = Number(figure.dataset.high);
    const { height } = figure.querySelector('svg').viewBox.baseVal;
    figure.querySelectorAll('.line').forEach((line) => {
      const policy = world.summary.policies.findIndex(({ name }) => name === line.dataset.name);
      const values = distributionOf(world, policy, figure.dataset.cdf);
      const count = line.dataset.values.split(' ').length;
      const shares = Array.from({ length: count }, (_, k) =>
        (values.length ? upperBound(values, low * (high / low) ** (k / (count - 1)) * (1 + 1e-12)) / values.length : 0));
      line.dataset.values = shares.map((share) => share.toFixed(4)).join(' ');
      line.setAttribute('points', shares.map((share, k) =>
        `${(FRAME.left + (k / (count - 1)) * (FRAME.width - FRAME.left - FRAME.right)).toFixed(1)},` +
        `${(FRAME.top + (1 - share) * (height - FRAME.top - FRAME.bottom)).toFixed(1)}`).join(' '));
    });
  });
}

function distributionOf(world, policy, kind) {
  const { columns } = world.models[policy];
  const values = [];
  for (let i = 0; i < world.jobs.id.length; i += 1) {
    if (!columns.done[i] || (world.scope.keep && !world.scope.keep[i])) continue;
    const run = world.jobs.run[i] + columns.stretch[i], wait = columns.wait[i];
    values.push(kind === 'wait' ? wait : Math.max(1, (wait + run) / Math.max(run, TAU)));
  }
  return Float64Array.from(values).sort();
}

function redrawCharts(world) {
  const words = world.scope.words();
  document.querySelectorAll('#difference, #heat, #distributions').forEach((section) => {
    section.querySelector('.filtered')?.remove();
    if (words) section.querySelector('h2').after(node('p', { class: 'filtered note' },
      `Only jobs of ${words}: ${number(world.scope.kept)} of ${number(world.jobs.id.length)}.`));
  });
  redrawMaps(world);
  redrawWaits(world);
  redrawDistributions(world);
}
