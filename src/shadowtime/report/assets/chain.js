// Why a job waited, from job to job: who held processors until it started, who was promised a start before it.
const LINKS = 3;

function runsAt(model, time) {
  const { runs } = model, found = [];
  for (let r = 0; r < runs.count; r += 1) if (runs.start[r] <= time && time < runs.end[r]) found.push(r);
  return found;
}

// The hosts or nodes of a run, where the rows are real ones.
function bandsOf(model, run) {
  const names = new Set(), { boxes, layout } = model;
  if (!layout.real || layout.bands.length < 2) return [];
  for (let box = 0; box < boxes.count; box += 1) {
    if (boxes.run[box] !== run) continue;
    const band = layout.bands.find(([, row, rows]) => boxes.row[box] >= row && boxes.row[box] < row + rows);
    if (band && band[0]) names.add(band[0]);
  }
  return [...names];
}

// Just before its start: the jobs that ran, those that made room first, and those with an open promise.
function waitedFor(world, policy, job) {
  const model = world.models[policy], { columns, runs } = model;
  if (!columns.done[job] || !columns.wait[job]) return null;
  const start = world.jobs.submit[job] + columns.wait[job], time = start - 1;
  const wide = (r) => world.jobs.procs[runs.job[r]];
  const holders = runsAt(model, time).filter((r) => runs.job[r] !== job)
    .sort((a, b) => (runs.end[b] === start) - (runs.end[a] === start) || wide(b) - wide(a) || a - b);
  const promised = [];
  if (columns.promised) {
    for (let other = 0; other < world.jobs.id.length; other += 1) {
      const given = columns.blocked && columns.blocked[other] ? columns.blocked[other] - 1 : 0;
      const submit = world.jobs.submit[other];
      const waits = submit + given <= time && (!columns.done[other] || submit + columns.wait[other] >= start);
      if (other !== job && columns.promised[other] && waits) promised.push(other);
    }
    promised.sort((a, b) => world.jobs.submit[a] + columns.promised[a] - world.jobs.submit[b] - columns.promised[b]);
  }
  return { start, holders, promised };
}

function jobButton(world, job) {
  return node('button', { type: 'button', class: 'link', 'data-job': job }, `job ${world.jobs.id[job]}`);
}

function processors(count) { return `${number(count)} processor${count === 1 ? '' : 's'}`; }

function chainOf(world, policy, job) {
  const found = waitedFor(world, policy, job);
  if (!found) return [];
  const { runs } = world.models[policy], { columns } = world.models[policy];
  const at = (time) => node('span', { class: 'when' }, moment(time, world.figure.epoch).replace(' UTC', ''));
  const held = found.holders.slice(0, LINKS).map((r) => {
    const where = bandsOf(world.models[policy], r);
    const on = where.length ? ` on ${where.slice(0, 3).join(', ')}${where.length > 3 ? ' ...' : ''}` : '';
    const made = runs.end[r] === found.start ? ', which made room' : '';
    return node('li', {}, jobButton(world, runs.job[r]),
      ` held ${processors(world.jobs.procs[runs.job[r]])}${on} until `, at(runs.end[r]), made);
  });
  const due = found.promised.slice(0, LINKS).map((other) => node('li', {}, jobButton(world, other),
    ' had been promised ', at(world.jobs.submit[other] + columns.promised[other] - 1)));
  const more = (count, what) => (count > LINKS ? [node('li', { class: 'muted' }, `and ${number(count - LINKS)} more ${what}`)] : []);
  const open = world.panels.some((panel) => panel.policy === policy) ? { open: '' } : {};
  return [node('details', open, node('summary', {}, 'Just before it started'),
    node('ul', { class: 'chain' }, ...held, ...more(found.holders.length, 'that ran'),
      ...due, ...more(found.promised.length, 'with a promise')))];
}

// What the engine found when the page was made, if it was asked about this job.
function withoutIt(world, policy, job) {
  const found = world.figure.without[policy][String(job)];
  if (!found) return [];
  const parts = [];
  for (const [way, [count, total]] of [['earlier', found.earlier], ['later', found.later]]) {
    if (count) parts.push(`${number(count)} other job${count === 1 ? '' : 's'} would start ${way}, by ${span(total)} in total`);
  }
  if (found.never[0]) parts.push(`${number(found.never[0])} would start that never did`);
  if (found.never[1]) parts.push(`${number(found.never[1])} would never start`);
  return [node('p', {}, `Without this job: ${parts.join('; ') || 'no other job would start at another time'}.`),
    node('ul', { class: 'chain' }, ...found.most.map(([other, shift]) => node('li', {}, jobButton(world, other),
      ` ${span(Math.abs(shift))} ${shift < 0 ? 'earlier' : 'later'}`)))];
}

function cannotSay(world, job) {
  if (world.figure.without.some((known) => known[String(job)])) return [];
  return [node('p', { class: 'ask' }, 'What if this job had not been there? ',
    node('code', {}, `shadowtime report DIR --without ${world.jobs.id[job]}`), ' answers on this card; ',
    node('code', {}, `shadowtime explain DIR JOB --without ${world.jobs.id[job]}`), ' for another job.')];
}

// The jobs clicked through on the way to this one; each leads back.
function trailOf(world) {
  if (world.trail.length < 2) return [];
  return [node('nav', { class: 'trail', 'aria-label': 'Jobs on the way here' },
    ...world.trail.slice(0, -1).flatMap((job) => [jobButton(world, job), ' → ']),
    node('b', {}, `job ${world.jobs.id[world.chosen]}`))];
}

function attachChain(world) {
  element('card').addEventListener('click', (event) => {
    const button = event.target.closest('[data-job]');
    if (!button) return;
    const job = Number(button.dataset.job), back = world.trail.indexOf(job);
    const trail = back >= 0 ? world.trail.slice(0, back + 1) : [...world.trail, job];
    find(world, String(world.jobs.id[job]), trail);
    element('card').focus({ preventScroll: true });
  });
}
