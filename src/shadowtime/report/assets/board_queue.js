// The table of jobs: searched, sorted, a page at a time.
const PAGE = 50;
const queue = { state: 'waiting', text: '', shown: PAGE };

function time(at) {
  const date = new Date(at * 1000), today = new Date(clock() * 1000);
  const two = (value) => String(value).padStart(2, '0');
  const hour = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (date.toDateString() === today.toDateString()) return hour;
  return `${date.getDate()} ${MONTHS[date.getMonth()]} ${hour}`;
}

function away(at) {
  const left = at - clock();
  return Math.abs(left) < 30 ? 'now' : left > 0 ? `in ${span(rounded(left / 60) * 60)}` : `${span(rounded(-left / 60) * 60)} ago`;
}

// Whether a job has what is searched: a whole id, node, user, account or partition, or a part of its name.
function matches(job, text) {
  if (!text) return true;
  return text.split(/\s+/).every((word) => {
    const bare = word.toLowerCase();
    return job.id.toLowerCase() === bare || job.id.startsWith(`${bare}_`) || job.user.toLowerCase() === bare || job.account.toLowerCase() === bare ||
      job.partition.toLowerCase().split(',').includes(bare) || job.hosts.some((host) => host.toLowerCase() === bare) || job.name.toLowerCase().includes(bare);
  });
}

function ordered(state) {
  const jobs = [...(state === 'ended' ? board.past : board.jobs).values()].filter((job) => job.state === state && matches(job, queue.text));
  if (state === 'waiting') return jobs.sort((a, b) => (a.expected < 0) - (b.expected < 0) || a.expected - b.expected || a.rank - b.rank);
  return jobs.sort((a, b) => (state === 'ended' ? b.end - a.end : b.start - a.start));
}

function whenCell(job, most) {
  if (job.state === 'ended') return [`${time(job.end)}`, node('small', { class: 'muted' }, job.start >= 0 ? `ran ${span(job.end - job.start)}` : 'never started')];
  if (job.state === 'running') return [`${time(job.start)}`, node('small', { class: 'muted' }, `runs for ${span(Math.max(0, Math.floor(clock() - job.start)))} of ${span(job.limit)}`)];
  if (job.expected < 0) return [node('span', { class: 'muted' }, job.unknown || (board.head.estimated < 0 ? 'not estimated yet' : 'not estimated'))];
  const now = clock(), wide = Math.max(60, most - now);
  const place = (at) => Math.min(100, Math.max(0, (100 * (at - now)) / wide));
  const range = node('div', { class: 'range', 'aria-hidden': 'true' }, node('i'), node('b'));
  range.firstChild.style.left = `${place(job.earliest)}%`;
  range.firstChild.style.width = `${Math.max(2, place(job.latest) - place(job.earliest))}%`;
  range.lastChild.style.left = `${Math.min(98, place(job.expected))}%`;
  if (tooOld()) return [node('b', {}, time(job.expected)), ` as known at ${time(board.head.estimated)}`, node('small', { class: 'muted' }, `80 %: ${rangeWords(job)}`), range];
  const late = job.latest < now ? 'later than expected' : job.expected < now - 30 ? 'at any moment' : away(job.expected);
  return [node('b', {}, late), ` ${job.expected < now - 30 ? '' : time(job.expected)}`, node('small', { class: 'muted' }, `80 %: ${rangeWords(job)}`), range];
}

function rangeWords(job) {
  const late = job.latest - clock() > 300 * DAY ? 'not known' : time(job.latest);
  return `${time(Math.min(Math.max(job.earliest, clock()), job.latest))} to ${late}`;
}

const COLUMNS = {
  waiting: ['Job', 'Name', 'User', 'Account', 'Partition', 'CPUs', 'Position', 'Waits', 'Expected start', 'Reason'],
  running: ['Job', 'Name', 'User', 'Account', 'Partition', 'CPUs', 'Nodes', 'Waited', 'Started', 'State'],
  ended: ['Job', 'Name', 'User', 'Account', 'Partition', 'CPUs', 'Nodes', 'Waited', 'Ended', 'State'],
};
const HIDES = { Name: 'names', User: 'users', Account: 'users' };
const NUMBERS = new Set(['CPUs', 'Position', 'Waits', 'Waited']);

function cellOf(job, column, most) {
  const waited = (job.state === 'waiting' ? clock() : job.start) - job.submit;
  const texts = {
    Name: job.name, User: job.user, Account: job.account, Partition: job.partition, CPUs: number(job.cpus), Position: job.position ? number(job.position) : '',
    Waits: job.submit >= 0 ? span(rounded(waited / 60) * 60) : '', Waited: job.submit >= 0 && job.start >= 0 ? span(Math.max(0, waited)) : '',
    Nodes: job.hosts.length > 3 ? `${number(job.hosts.length)} nodes` : job.hosts.join(', '), Reason: job.reason, State: job.reason,
  };
  const when = ['Expected start', 'Started', 'Ended'].includes(column);
  const kind = when ? 'when' : NUMBERS.has(column) ? 'number' : ['Name', 'Reason', 'State', 'Nodes'].includes(column) ? 'words' : '';
  return node('td', { class: kind, 'data-label': when ? '' : column }, ...(when ? whenCell(job, most) : [texts[column]]));
}

// Rows that look the same stay the same elements: what is pointed at, focused or selected stays so.
function keep(holder, rows) {
  const known = new Map([...holder.rows].map((row) => [row.dataset.row, row]));
  const wanted = rows.map((row) => {
    const old = known.get(row.dataset.row);
    if (!old) return row;
    if (old.className !== row.className) old.className = row.className;
    const cells = [...row.cells]; // they move to the old row
    cells.forEach((cell, i) => {
      if (!old.cells[i]) old.append(cell);
      else if (!old.cells[i].isEqualNode(cell)) old.cells[i].replaceWith(cell);
    });
    while (old.cells.length > cells.length) old.lastChild.remove();
    return old;
  });
  if (wanted.length !== holder.rows.length || wanted.some((row, i) => holder.rows[i] !== row)) {
    const focused = document.activeElement;
    holder.replaceChildren(...wanted);
    if (holder.contains(focused)) focused.focus({ preventScroll: true });
  }
}

function drawTable(world) {
  const columns = COLUMNS[queue.state].filter((name) => !board.head.hidden.includes(HIDES[name]));
  const jobs = ordered(queue.state);
  const most = jobs.slice(0, queue.shown).reduce((top, job) => Math.max(top, Math.min(job.latest, job.expected + 3 * (job.expected - clock() + 600))), 0);
  const head = node('tr', {}, ...columns.map((name) => node('th', { scope: 'col', class: NUMBERS.has(name) ? 'number' : '' }, name)));
  keep(element('jobs').tHead, [head]);
  keep(element('jobs').tBodies[0], jobs.slice(0, queue.shown).map((job) => node('tr', { class: job.id === world.chosenId ? 'chosen' : '', 'data-row': job.id },
    node('th', { scope: 'row' }, node('button', { type: 'button', class: 'link', 'data-job': job.id }, job.id)),
    ...columns.slice(1).map((name) => cellOf(job, name, most)))));
  const all = [...(queue.state === 'ended' ? board.past : board.jobs).values()].filter((job) => job.state === queue.state).length;
  element('counted').textContent = queue.text ? `${number(jobs.length)} of ${number(all)} jobs` : `${number(all)} job${all === 1 ? '' : 's'}`;
  element('more').hidden = jobs.length <= queue.shown;
  document.querySelectorAll('[data-state]').forEach((one) => one.setAttribute('aria-pressed', String(one.dataset.state === queue.state)));
}

function attachQueue(world, changed) {
  element('search').addEventListener('submit', (event) => event.preventDefault());
  let timer = 0;
  element('job').addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      queue.text = element('job').value.trim();
      queue.shown = PAGE;
      changed();
    }, 120);
  });
  document.querySelectorAll('[data-state]').forEach((button) => button.addEventListener('click', () => {
    queue.state = button.dataset.state;
    queue.shown = PAGE;
    changed();
  }));
  element('more').addEventListener('click', () => { queue.shown += 4 * PAGE; drawTable(world); });
  element('jobs').tBodies[0].addEventListener('click', (event) => {
    const row = event.target.closest('[data-row]');
    if (row) world.pick(row.dataset.row, true);
  });
}
