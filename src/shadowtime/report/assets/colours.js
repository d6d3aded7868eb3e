// Which class a run belongs to in each colour mode, and the colours of the current theme.
const SLOWDOWN_EDGES = [1.1, 2, 5, 20, 100];
const SLOWDOWN_LABELS = ['≤ 1.1', '1.1–2', '2–5', '5–20', '20–100', '> 100'];
const PENALTY_EDGES = [0, 0.05, 0.2, 0.5];
const PENALTY_LABELS = ['none', '≤ 5 %', '5–20 %', '20–50 %', '> 50 %'];
const LOST = 'lost work';
const REASONS = {
  recorded: 'recorded', head: 'first in the queue', reserved: 'waited at the head of the queue', backfilled: 'backfilled',
  preempting: 'by preemption', unstarted: 'never started',
};

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function rgb(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// Ordered classes take evenly spaced steps of the ramp, so that few classes differ clearly.
function ramp(count) {
  return Array.from({ length: count }, (_, i) =>
    `--ramp-${Math.round(count > 1 ? (i * 6) / (count - 1) : 3)}`);
}

const CLASSIFIERS = {
  reason: (world) => ({
    labels: world.figure.reasons.map((reason) => REASONS[reason] || reason),
    names: world.figure.reasons.map((reason) => `--reason-${reason}`),
    of: (model, job) => model.columns.reason[job],
  }),
  size: (world) => ({
    labels: world.figure.sizes.map((label) => `${label} proc.`),
    names: ramp(world.figure.sizes.length),
    of: (model, job) => world.jobs.size[job],
  }),
  user: (world) => ({
    labels: world.figure.users,
    names: world.figure.users.map((user, i) => (user === 'others' ? '--others' : `--u${i}`)),
    of: (model, job) => world.jobs.rank[job],
  }),
  slowdown: (world) => ({
    labels: SLOWDOWN_LABELS,
    names: ramp(SLOWDOWN_LABELS.length),
    of: (model, job) => {
      const run = world.jobs.run[job] + model.columns.stretch[job];
      return lowerBound(SLOWDOWN_EDGES, Math.max(1, (model.columns.wait[job] + run) / Math.max(run, 10)));
    },
  }),
  penalty: (world) => ({
    labels: PENALTY_LABELS,
    names: ramp(PENALTY_LABELS.length),
    of: (model, job) => {
      const column = model.columns.penalised;
      return column ? lowerBound(PENALTY_EDGES, column[job] / Math.max(1, world.jobs.run[job])) : 0;
    },
  }),
};

// Classes of all runs of a model in one mode.
function classify(world, model, mode) {
  const classifier = CLASSIFIERS[mode](world);
  const lost = classifier.labels.length, rest = lost + 1;
  const { keep } = world.scope;
  const of = new Uint8Array(model.runs.count);
  const used = new Set();
  for (let r = 0; r < of.length; r += 1) {
    const job = model.runs.job[r];
    of[r] = keep && !keep[job] ? rest : model.runs.lost[r] ? lost : classifier.of(model, job);
    used.add(of[r]);
  }
  const names = [...classifier.names, '--lost', '--line'], labels = [...classifier.labels, LOST, 'not selected'];
  const kept = [...used].sort((a, b) => a - b); // only classes that occur: tiles cost by the class
  const place = new Uint8Array(names.length);
  kept.forEach((value, i) => { place[value] = i; });
  return {
    of: of.map((value) => place[value]),
    labels: kept.map((value) => labels[value]),
    colours: kept.map((value) => themeColour(names[value])),
  };
}
