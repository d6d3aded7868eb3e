// A job in words: under the pointer in short, and on a card under every policy.
function why(world, policy, job) {
  const { columns } = world.models[policy];
  const at = (sinceSubmit) => moment(world.jobs.submit[job] + sinceSubmit - 1, world.figure.epoch);
  const reason = world.figure.reasons[columns.reason[job]];
  if (!columns.done[job]) return reason === 'unstarted' ? 'It never started.' : 'It has no start and end here.';
  const blocked = columns.blocked ? columns.blocked[job] : 0;
  const promised = columns.promised ? columns.promised[job] : 0;
  const sentence = {
    recorded: 'Started as recorded; the log gives no reason.',
    head: columns.wait[job]
      ? 'Started when it became the first in the queue: it fitted at once.'
      : 'Started on arrival: no job was ahead of it and it fitted.',
    reserved: 'Started as the first in the queue, as soon as enough processors were free.',
    backfilled: 'Backfilled: it started ahead of a blocked job, without delaying it.',
    preempting: 'Started as the first in the queue by preempting other jobs.',
  }[reason] || reason;
  const parts = [sentence];
  if (blocked) parts.push(`At the head of the queue and blocked from ${at(blocked)}.`);
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
  const who = user[job] >= 0 ? ` · user ${nameOf(world, 'user', user[job])}` : '';
  const rest = ['group', 'partition', 'queue']
    .filter((column) => world.jobs[column] && world.jobs[column][job] >= 0)
    .map((column) => ` · ${filterLabel(world, column).toLowerCase().replace('qos', 'QOS')} ${nameOf(world, column, world.jobs[column][job])}`)
    .join('');
  const amounts = world.figure.resources.map((name, k) => [name, world.jobs[`demand${k + 1}`][job]])
    .filter(([, amount]) => amount > 0)
    .map(([name, amount]) => ` · ${name === 'memory' ? `${memory(amount)} memory` : `${number(amount)} ${name}`}`).join('');
  return `Job ${id[job]} · ${number(procs[job])} processor${procs[job] === 1 ? '' : 's'}${amounts}${who}${rest}`;
}

// A job under the pointer, in short.
function jobWords(world, panel, run, job) {
  const lines = facts(world, panel.policy, job).slice(0, 3);
  return [
    node('b', {}, title(world, job)),
    node('dl', {}, ...lines.flatMap(([key, value]) => [node('dt', {}, key), node('dd', {}, value)])),
    node('p', {}, panel.model.runs.lost[run]
      ? `An attempt of ${span(panel.model.runs.end[run] - panel.model.runs.start[run])} that was stopped; its work is lost.`
      : why(world, panel.policy, job))];
}

function showCard(world) {
  const card = element('card'), job = world.chosen;
  card.hidden = job < 0;
  if (job < 0) return;
  const policies = world.models.map((model, policy) => model && node('div', {},
    node('h4', {}, node('i', { class: `swatch ${policyMark(policy)}` }),
      node('span', { class: 'name', title: world.summary.policies[policy].name },
        world.summary.policies[policy].name)),
    node('dl', {}, ...facts(world, policy, job).flatMap(([key, value]) => [
      node('dt', {}, key), node('dd', {}, value)])),
    node('p', {}, why(world, policy, job)), ...chainOf(world, policy, job),
    ...withoutIt(world, policy, job))).filter(Boolean);
  card.replaceChildren(...trailOf(world),
    node('h3', {}, title(world, job), node('small', {},
      `submitted ${moment(world.jobs.submit[job], world.figure.epoch)}`)),
    node('div', { class: 'policies' }, ...policies), ...cannotSay(world, job));
}
