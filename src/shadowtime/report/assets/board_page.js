// The board's page: figures of now, the figure that follows the clock, the card of a job, the address.
CLASSIFIERS.phase = () => ({
  labels: ['ended', 'running', 'expected'], names: ['--others', '--p0', '--reason-reserved'],
  of: (model, job) => PHASES.indexOf(model.jobs[job].state),
});
for (const column of ['user', 'account', 'partition']) {
  CLASSIFIERS[column] = (world) => {
    const found = new Map();
    for (const job of world.drawn) found.set(job[column], (found.get(job[column]) || 0) + job.cpus);
    const top = [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 7).map(([name]) => name);
    return {
      labels: [...top.map((name) => name || 'not known'), 'others'], names: [...top.map((_, i) => `--u${i}`), '--others'],
      of: (model, job) => (top.includes(model.jobs[job][column]) ? top.indexOf(model.jobs[job][column]) : top.length),
    };
  };
}

const title = (world, job) => titleOf(world.drawn[job]);
function titleOf(job) {
  return [`Job ${job.id}`, job.name, job.user, job.account, job.partition, `${number(job.cpus)} processor${job.cpus === 1 ? '' : 's'}`].filter(Boolean).join(' · ');
}

function factsOf(job) {
  const waited = job.submit >= 0 && job.start >= 0 ? [['waited', span(Math.max(0, job.start - job.submit))]] : [];
  if (job.state === 'ended') return [...waited, ['ran', job.start >= 0 ? span(job.end - job.start) : 'never'], ['ended', time(job.end)], ['state', job.reason]];
  if (job.state === 'running') return [...waited, ['runs since', time(job.start)], ['limit', span(job.limit)], ['expected end', job.until > 0 ? `about ${time(endOf(job))}` : 'by its limit']];
  const made = [['submitted', time(job.submit)]];
  if (job.expected >= 0) {
    made.push(['expected start', tooOld() ? `${time(job.expected)}, as known at ${time(board.head.estimated)}` : job.expected < clock() - 30 ? `at any moment (expected ${time(job.expected)})` : `${away(job.expected)}, ${time(job.expected)}`], ['80 % range', rangeWords(job)]);
    if (job.within_hour !== null) made.push(['within an hour', percent(job.within_hour)]);
  } else made.push(['expected start', job.unknown || 'not estimated']);
  if (job.planned > 0) made.push(['Slurm\u2019s own plan', time(job.planned)]);
  if (job.shadow > 0) made.push([`under ${board.head.policy || 'the policy in shadow mode'}`, time(job.shadow)]);
  if (job.position) made.push(['position', `${number(job.position)} in ${job.partition || 'the queue'}`]);
  return [...made, ['limit', job.limit > 0 ? span(job.limit) : 'none'], ['reason', job.reason || '–']];
}

const listed = (pairs) => node('dl', {}, ...pairs.flatMap(([key, value]) => [node('dt', {}, key), node('dd', {}, value)]));
const jobWords = (world, panel, run, job) => [node('b', {}, title(world, job)), listed(factsOf(world.drawn[job]).slice(0, 4))];

// Called by the figure's own interaction with a place in the figure.
function showCard(world) { world.pick(world.chosen < 0 ? '' : world.drawn[world.chosen].id, false); }

function drawCard(world) {
  const card = element('card'), id = world.chosenId;
  const job = board.jobs.get(id) || board.past.get(id);
  card.hidden = !job;
  if (!job) return;
  const why = world.why && world.why.id === id ? world.why.text : '';
  const where = job.hosts.length ? [['nodes', job.hosts.length > 12 ? `${job.hosts.slice(0, 12).join(', ')} and ${number(job.hosts.length - 12)} more` : job.hosts.join(', ')]] : [];
  const close = node('button', { type: 'button', class: 'link' }, 'Close');
  close.addEventListener('click', () => world.pick('', false));
  card.replaceChildren(node('h3', {}, titleOf(job), close), listed([...factsOf(job), ...where]), ...(why ? [node('p', {}, `It waits because ${why}${why.endsWith('.') ? '' : '.'}`)] : []));
}

async function askWhy(world, id) {
  const job = board.jobs.get(id);
  if (!board.served || !job || job.state !== 'waiting') return;
  try {
    const found = await fetched(`jobs/${encodeURIComponent(id)}`);
    world.why = { id, text: found.why || found.unknown };
    if (world.chosenId === id) drawCard(world);
  } catch { /* it has started meanwhile */ }
}

function writeStateSoon(world) { clearTimeout(world.writing); world.writing = setTimeout(() => writeState(world), 250); }

function writeState(world) {
  const state = new URLSearchParams();
  if (queue.text) state.set('q', queue.text);
  if (queue.state !== 'waiting') state.set('show', queue.state);
  if (world.chosenId) state.set('job', world.chosenId);
  if (world.view && !world.following) {
    state.set('from', String(Math.round(world.view.from + world.origin)));
    state.set('to', String(Math.round(world.view.to + world.origin)));
    if (world.view.high - world.view.low < 0.9999) { state.set('low', world.view.low.toFixed(4)); state.set('high', world.view.high.toFixed(4)); }
  }
  if (element('colour') && element('colour').value !== 'phase') state.set('colour', element('colour').value);
  const { theme } = document.documentElement.dataset;
  if (theme) state.set('theme', theme);
  const text = state.toString(), now = location.hash.slice(1);
  if (text !== now && (text || now.includes('='))) history.replaceState(null, '', text ? `#${text}` : '#');
}

function readState(world) {
  if (!location.hash.includes('=')) return;
  const state = new URLSearchParams(location.hash.slice(1));
  queue.text = state.get('q') || '';
  element('job').value = queue.text;
  queue.state = ['waiting', 'running', 'ended'].includes(state.get('show')) ? state.get('show') : 'waiting';
  if (['light', 'dark'].includes(state.get('theme'))) document.documentElement.dataset.theme = state.get('theme');
  const colour = element('colour');
  if (colour && [...colour.options].some((one) => one.value === state.get('colour'))) colour.value = state.get('colour');
  const from = Number(state.get('from')), to = Number(state.get('to'));
  if (world.view && state.has('from') && Number.isFinite(from + to) && to > from) {
    world.following = false;
    world.view.set(from - world.origin, to - world.origin);
    if (state.has('low')) world.view.setRows(Number(state.get('low')) || 0, Number(state.get('high')) || 1);
  }
  world.chosenId = state.get('job') || '';
}

function drawNow(world) {
  const { head } = board;
  const { totals } = head;
  document.title = `${head.cluster || 'Cluster'} · Shadowtime`;
  element('cluster').textContent = head.cluster || 'Cluster';
  element('system').textContent = head.system ? `${head.system}.` : '';
  const used = totals.cpus ? totals.cpus_used / totals.cpus : 0;
  const meter = node('div', { class: 'meter', 'aria-hidden': 'true' }, node('i'));
  meter.firstChild.style.width = `${Math.min(100, 100 * used)}%`;
  const waits = [...board.jobs.values()].filter((job) => job.state === 'waiting' && job.expected >= 0).map((job) => Math.max(0, job.expected - clock())).sort((a, b) => a - b);
  const tile = (name, value, ...more) => node('div', {}, node('dt', {}, name), node('dd', {}, value, ...more));
  element('totals').replaceChildren(
    tile('Processors in use', percent(used), node('small', { class: 'muted' }, `${number(totals.cpus_used)} of ${number(totals.cpus)}`), meter),
    tile('Nodes', number(totals.nodes_usable), node('small', { class: 'muted' }, totals.nodes > totals.nodes_usable ? `${number(totals.nodes - totals.nodes_usable)} not available` : 'all available')),
    tile('Running', number(totals.running)), tile('Waiting', number(totals.waiting)),
    tile('Half of the queue starts within', waits.length ? span(rounded(waits[Math.floor(waits.length / 2)] / 60) * 60) : '–', node('small', { class: 'muted' }, waits.length ? `${number(waits.length)} estimated${tooOld() ? ` at ${time(head.estimated)}` : ''}` : 'nothing estimated')));
  const notes = [...head.unknown];
  if (head.hidden.length) notes.unshift(`Not shown: ${head.hidden.map((one) => ({ names: 'names of jobs', users: 'users and accounts' }[one])).join(', ')}${head.hidden_why ? ` (${head.hidden_why})` : ''}.`);
  if (element('notes')) element('notes').textContent = notes.join(' ');
  if (element('past-from')) element('past-from').textContent = head.past_from > clock() - 0.95 * DAY ? `The past is known since ${time(head.past_from)}.` : '';
  drawAge(world);
}

// Both ages: what runs and waits now, and what was estimated from it.
function drawAge(world) {
  const { head } = board;
  const age = Math.max(0, present() - head.polled), old = head.polled < 0 || tooOld();
  const parts = [head.polled < 0 ? 'Nothing was read yet.' : !board.served ? `As of ${time(head.polled)}.` : age < Math.max(5, 2 * head.every) ? 'Live.' : `${span(Math.floor(age))} old.`];
  parts.push(head.estimated < 0 ? 'No estimates yet.' : `Estimates of ${board.served ? `${span(Math.max(0, Math.floor(present() - head.estimated)))} ago` : time(head.estimated)}.`);
  element('age').textContent = parts.join(' ');
  element('age').classList.toggle('old', board.served && old);
  const problem = head.problem ? `The scheduler does not answer; this is what was known ${head.polled < 0 ? 'never' : `${span(Math.floor(age))} ago`}. ${head.problem}` : world.lost ? 'The connection to the board is lost; trying again.' : '';
  if (element('problem').textContent !== problem) element('problem').textContent = problem;
  element('problem').hidden = !problem;
}
