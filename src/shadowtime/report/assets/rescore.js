// Metrics of the jobs that are submitted in view and pass the filters, by the rules of the tables.
const TAU = 10; // seconds: shorter runs count as this long

function percentile(sorted, percentage) {
  return sorted[Math.ceil((percentage * sorted.length) / 100) - 1]; // nearest rank
}

// The places of the jobs that count: submitted in [from, to], kept by the filters.
function jobsWithin(world, from, to) {
  const { submit } = world.jobs;
  const places = [];
  for (let i = lowerBound(submit, from); i < submit.length && submit[i] <= to; i += 1) {
    if (!world.scope.keep || world.scope.keep[i]) places.push(i);
  }
  return places;
}

// A job that never started under one of the policies would make the others look worse.
const startedEverywhere = (world, places) =>
  places.filter((job) => world.models.every(({ columns }) => columns.done[job]));

function scoresOf(world, policy, places) {
  const { columns } = world.models[policy];
  const { run, procs } = world.jobs;
  const done = places.filter((job) => columns.done[job]);
  if (!done.length) return { jobs: 0 };
  const waits = new Float64Array(done.length), bounded = new Float64Array(done.length);
  let wait = 0, slow = 0, paper = 0, width = 0, response = 0, area = 0;
  done.forEach((job, i) => {
    const lasted = run[job] + columns.stretch[job], waited = columns.wait[job];
    const counted = Math.max(lasted, TAU);
    waits[i] = waited;
    bounded[i] = Math.max(1, (waited + lasted) / counted);
    wait += waited;
    slow += bounded[i];
    paper += (procs[job] * (waited + counted)) / counted;
    width += procs[job];
    response += procs[job] * lasted * (waited + lasted);
    area += procs[job] * lasted;
  });
  waits.sort();
  bounded.sort();
  const n = done.length;
  return {
    jobs: n,
    bsld_mean: slow / n,
    bsld_p95: percentile(bounded, 95),
    mwbs: paper / width,
    wait_mean_s: wait / n,
    wait_median_s: percentile(waits, 50),
    wait_p95_s: percentile(waits, 95),
    wait_max_s: waits[n - 1],
    awrt_s: area ? response / area : null,
  };
}

function bestOf(values, better) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length < 2 || better === 'neither') return null;
  const best = better === 'lower' ? Math.min(...known) : Math.max(...known);
  return known.filter((value) => value === best).length === 1 ? best : null;
}

function rescore(world) {
  if (world.models.some((model) => !model)) return; // the others are still being read
  const { view, figure } = world;
  const from = Math.max(0, view.from), to = Math.min(figure.end, view.to);
  const within = jobsWithin(world, from, to), places = startedEverywhere(world, within);
  const scores = world.models.map((_, policy) => scoresOf(world, policy, places));
  world.scores = scores;
  const { policies } = world.summary;
  const head = node('tr', {}, node('th', { scope: 'col' }, 'Metric'), ...policies.map(({ name }, i) =>
    node('th', { scope: 'col', 'data-of': i, ...(world.muted.has(i) ? { hidden: '' } : {}) }, node('i', { class: `swatch ${policyMark(i)}` }), node('span', { class: 'name' }, name))));
  const rows = Object.entries(figure.metrics).map(([metric, [label, unit, better]]) => {
    const values = scores.map((score) => score[metric]);
    const best = bestOf(values.filter((_, i) => !world.muted.has(i)), better);
    return node('tr', {}, node('th', { scope: 'row' }, label), ...values.map((value, i) => node('td', {
      'data-of': i, ...(world.muted.has(i) ? { hidden: '' } : {}),
      class: best !== null && value === best ? 'best' : '', 'data-metric-in-view': metric,
      'data-value': value ?? '',
    }, node('b', {}, value === undefined || value === null ? '–' : unit === 's' ? span(value) : number(value)))));
  });
  element('scored').replaceChildren(node('thead', {}, head), node('tbody', {}, ...rows));
  const whole = view.isFull() ? 'the whole log'
    : `${moment(from, figure.epoch)} to ${moment(to, figure.epoch)}`;
  const words = world.scope.words();
  const absent = within.length - places.length;
  element('scope').textContent = `${number(places.length)} of ${number(world.jobs.id.length)} jobs: submitted in ` +
    `${whole}${world.jobs.counted ? `, ${world.summary.window}` : ''}${words ? `, ${words}` : ''}` +
    `${absent ? `, without ${number(absent)} that did not start under every policy` : ''}. Zoom, or filter above, to score others.`;
}

// After the hand has come to rest: sorting a million waits takes a moment.
function rescoreSoon(world) {
  clearTimeout(world.rescoring);
  world.rescoring = setTimeout(() => { rescore(world); world.frames += 1; }, 90);
}
