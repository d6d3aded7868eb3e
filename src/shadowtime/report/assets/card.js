// What is said of a job: under the pointer in short, and on a card under every policy.
function why(world, policy, job) {
  const { columns } = world.models[policy];
  const at = (sinceSubmit) => moment(world.jobs.submit[job] + sinceSubmit - 1, world.figure.epoch);
  if (!columns.done[job]) return 'It has no start and end here.';
  const reason = world.figure.reasons[columns.reason[job]];
  const blocked = columns.blocked ? columns.blocked[job] : 0;
  const promised = columns.promised ? columns.promised[job] : 0;
  const said = {
    recorded: 'Started as the log records it, which does not say why.',
    head: columns.wait[job]
      ? 'Started when it became the first in the queue: it fitted at once.'
      : 'Started on arrival: nobody was ahead and it fitted.',
    reserved: 'Started as the first in the queue, as soon as enough processors were free.',
    backfilled: 'Backfilled: it started ahead of a job that stays blocked, without its place.',
    preempting: 'Started as the first in the queue by stopping others.',
  }[reason] || reason;
  const parts = [said];
  if (blocked) parts.push(`First in the queue and held up from ${at(blocked)}.`);
  if (promised) {
    const slip = columns.wait[job] - (promised - 1);
    parts.push(`Promised ${at(promised)}, started ${
      slip ? `${span(Math.abs(slip))} ${slip < 0 ? 'before' : 'after'} that` : 'exactly then'}.`);
  }
  if (columns.kills[job]) parts.push(`Stopped ${number(columns.kills[job])} times before.`);
  if (columns.killed[job]) parts.push('Killed at its limit.');
  return parts.join(' ');
}

function facts(world, policy, job) {
  const { columns } = world.models[policy];
  const run = world.jobs.run[job] + columns.stretch[job];
  const wait = columns.wait[job];
  if (!columns.done[job]) return [];
  return [
    ['waited', span(wait)],
    ['ran', `${span(run)} of ${span(world.jobs.request[job])} requested`],
    ['bounded slowdown', number(Math.max(1, (wait + run) / Math.max(run, 10)))],
    ['started', moment(world.jobs.submit[job] + wait, world.figure.epoch)],
    ['ended', moment(world.jobs.submit[job] + wait + run, world.figure.epoch)],
  ];
}

function title(world, job) {
  const { id, procs, user } = world.jobs;
  const { names } = world.figure;
  const known = (column, number) => names[column]?.[number] ?? number;
  const who = user[job] >= 0 ? ` · user ${known('user', user[job])}` : '';
  const rest = [['group', 'account'], ['partition', 'partition'], ['queue', 'QOS']]
    .filter(([column]) => names[column] && world.jobs[column][job] >= 0)
    .map(([column, word]) => ` · ${word} ${known(column, world.jobs[column][job])}`).join('');
  return `Job ${id[job]} · ${number(procs[job])} processor${procs[job] === 1 ? '' : 's'}${who}${rest}`;
}

function makeTip(world) {
  const tip = element('tip');
  return {
    hide() { tip.hidden = true; },
    job(event, panel, box) {
      const run = panel.model.boxes.run[box];
      const job = panel.model.runs.job[run];
      const lines = facts(world, panel.policy, job).slice(0, 3);
      tip.replaceChildren(
        node('b', {}, title(world, job)),
        node('dl', {}, ...lines.flatMap(([key, value]) => [node('dt', {}, key), node('dd', {}, value)])),
        node('p', {}, panel.model.runs.lost[run]
          ? `An attempt of ${span(panel.model.runs.end[run] - panel.model.runs.start[run])} that was stopped; its work is lost.`
          : why(world, panel.policy, job)));
      this.place(event);
    },
    values(event, time, values) {
      tip.replaceChildren(
        node('b', {}, moment(time, world.figure.epoch)),
        node('dl', { class: 'values' }, ...values.flatMap(([policy, text]) => [
          node('dt', {}, node('i', { class: `swatch p${policy % 8}` }),
            world.summary.policies[policy].name), node('dd', {}, text)])));
      this.place(event);
    },
    place(event) {
      tip.hidden = false;
      const { width, height } = tip.getBoundingClientRect();
      const x = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
      const y = Math.min(event.clientY + 16, innerHeight - height - 8);
      tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
    },
  };
}

function showCard(world) {
  const card = element('card'), job = world.chosen;
  card.hidden = job < 0;
  if (job < 0) return;
  const policies = world.models.map((model, policy) => model && node('div', {},
    node('h5', {}, node('i', { class: `swatch p${policy % 8}` }),
      node('span', { class: 'name', title: world.summary.policies[policy].name },
        world.summary.policies[policy].name)),
    node('dl', {}, ...facts(world, policy, job).flatMap(([key, value]) => [
      node('dt', {}, key), node('dd', {}, value)])),
    node('p', {}, why(world, policy, job)))).filter(Boolean);
  card.replaceChildren(
    node('h4', {}, title(world, job), node('small', {},
      `submitted ${moment(world.jobs.submit[job], world.figure.epoch)}`)),
    node('div', { class: 'policies' }, ...policies));
}
