// How good the estimates were, and what a policy in shadow mode would have changed.
function scoreTable(found) {
  const seconds = (value) => (value === undefined || value === null ? '–' : span(value));
  const rows = found.scores.map((one) => {
    const inside = node('td', { class: one.few ? 'doubt' : '' }, percent(one.inside), ...(one.few ? [node('small', {}, ` only ${number(one.jobs)} jobs`)] : []));
    return node('tr', {}, node('th', { scope: 'row' }, one.name, node('small', { class: 'muted' }, one.kind === 'all' ? '' : one.kind)),
      node('td', {}, number(one.jobs)), inside, node('td', {}, seconds(one.ours && one.ours.median)), node('td', {}, seconds(one.ours && one.ours.bias)),
      node('td', {}, seconds(one.both && one.both.median)), node('td', {}, seconds(one.slurm && one.slurm.median)), node('td', {}, seconds(one.slurm && one.slurm.bias)));
  });
  const heads = ['', 'Jobs', 'Inside the range', 'Median error', 'Bias', 'Median error, same jobs', 'Slurm\u2019s median error', 'Slurm\u2019s bias'];
  return node('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Scores' }, node('table', { class: 'scores' },
    node('thead', {}, node('tr', {}, ...heads.map((name) => node('th', { scope: 'col' }, name)))), node('tbody', {}, ...rows)));
}

function drawScores(found) {
  const holder = element('scores');
  if (!holder) return;
  const parts = [];
  const all = (found.scores || []).find((one) => one.kind === 'all');
  if (found.problem) parts.push(node('p', { class: 'warning' }, found.problem));
  if (!all) parts.push(node('p', { class: 'empty' }, 'No predicted job has started yet: there is nothing to score.'));
  else {
    const doubt = all.few ? ` Fewer than ${found.few} jobs are scored: that says little yet.` : '';
    const slurm = all.slurm ? ` Where Slurm planned a start too, half of its plans were off by more than ${span(all.slurm.median)}, ours by more than ${span(all.both.median)}.` : '';
    parts.push(node('p', { class: 'lead' }, `${percent(all.inside)} of the starts lay inside the range of 80 % (a minute is tolerated), over ${number(all.ours.count)} predictions of ${number(all.jobs)} jobs made at ${number(all.instants)} times. ` +
      `Half of the estimates were off by less than ${span(all.ours.median)}.${slurm}${doubt}`));
    parts.push(scoreTable(found));
    parts.push(node('p', { class: 'note' }, 'Error: real start minus predicted start. Bias above zero: jobs started later than predicted. Predictions made at one time succeed and fail together, so many jobs at few times say less than they seem to.'));
  }
  if (found.shadow) parts.push(...shadowParts(found.shadow));
  holder.replaceChildren(...parts);
}

function shadowParts(shadow) {
  if (shadow.problem) return [node('h3', {}, `In shadow mode: ${shadow.policy}`), node('p', { class: 'warning' }, shadow.problem)];
  const change = (value) => (value < 0 ? `${span(-value)} less` : value > 0 ? `${span(value)} more` : 'the same');
  const rows = shadow.groups.map((one) => node('tr', {}, node('th', { scope: 'row' }, one.name, node('small', { class: 'muted' }, one.kind)), node('td', {}, number(one.jobs)),
    node('td', {}, span(one.slurm)), node('td', {}, span(one.policy)), node('td', { class: one.few ? 'doubt' : '' }, change(one.policy - one.slurm), ...(one.few ? [node('small', {}, ' few jobs')] : []))));
  return [node('h3', {}, `In shadow mode: ${shadow.policy}`), node('p', { class: 'lead' }, shadow.words),
    node('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Waits beside a policy in shadow mode' }, node('table', { class: 'scores' },
      node('thead', {}, node('tr', {}, ...['', 'Jobs', 'Mean wait, Slurm', `Mean wait, ${shadow.policy}`, 'Difference'].map((name) => node('th', { scope: 'col' }, name)))),
      node('tbody', {}, ...rows))), node('p', { class: 'note' }, shadow.note)];
}
