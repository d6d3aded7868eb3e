// The board's data: fetched once, then changed by events; and as the boxes that the figure draws.
const DAY = 86400;
const board = { head: {}, nodes: new Map(), jobs: new Map(), past: new Map(), skew: 0, served: false };
const present = () => Date.now() / 1000 + board.skew;
const tooOld = () => board.head.polled >= 0 && (!board.served || present() - board.head.polled > Math.max(10, 4 * board.head.every));
// The board's time: it stands where nothing newer is known, or jobs would seem late that nobody has looked at.
const clock = () => (tooOld() ? board.head.polled : present());

async function fetched(name) {
  const answer = await fetch(`api/v1/${name}`, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
  const date = Date.parse(answer.headers.get('date'));
  if (Number.isFinite(date) && Math.abs(date / 1000 + 0.5 - present()) > 2) board.skew = date / 1000 - Date.now() / 1000;
  return answer.json();
}

function takeState(state) {
  const { jobs, nodes, ...head } = state;
  board.head = head;
  board.jobs = new Map(jobs.map((job) => [job.id, job]));
  board.nodes = new Map(nodes.map((one) => [one.name, one]));
  for (const job of board.jobs.keys()) board.past.delete(job);
}

function takeHistory(history) {
  board.past = new Map(history.jobs.map((job) => [job.id, job]));
  for (const job of board.jobs.keys()) board.past.delete(job);
}

// A change that follows what is known is applied; returns false where it does not follow.
function takeChanges(changes) {
  if (changes.reload || (changes.base !== undefined && changes.base !== board.head.version)) return false;
  const { jobs = [], ended = [], gone = [], nodes = [], gone_nodes: away = [], base, past, ...head } = changes;
  if (base === undefined && head.version !== board.head.version) return false;
  board.head = { ...board.head, ...head };
  for (const id of gone) board.jobs.delete(id);
  for (const job of ended) { board.jobs.delete(job.id); board.past.set(job.id, job); }
  for (const job of jobs) { board.jobs.set(job.id, job); board.past.delete(job.id); }
  for (const name of away) board.nodes.delete(name);
  for (const one of nodes) board.nodes.set(one.name, one);
  return true;
}

// Follows the server: what does not fit is fetched anew, once at a time.
function follow(changed, lost) {
  const events = new EventSource('api/v1/events');
  let fetching = null;
  const renew = (withPast) => {
    fetching = fetching || (async () => {
      try {
        takeState(await fetched('state'));
        if (withPast) takeHistory(await fetched('history'));
        changed();
      } catch { lost(); } finally { fetching = null; }
    })();
    return fetching;
  };
  events.addEventListener('hello', (event) => {
    lost(false);
    if (JSON.parse(event.data).version !== board.head.version) renew(true);
  });
  events.addEventListener('changes', (event) => {
    const changes = JSON.parse(event.data);
    lost(false);
    if (!takeChanges(changes)) renew(changes.reload);
    else if (changes.past) renew(true);
    else changed(changes);
  });
  events.onerror = () => lost(true);
  return events;
}

// The place of each waiting job in its partition's queue.
function positions() {
  const waiting = [...board.jobs.values()].filter((job) => job.state === 'waiting').sort((a, b) => a.rank - b.rank);
  const counts = new Map();
  for (const job of waiting) {
    counts.set(job.partition, (counts.get(job.partition) || 0) + 1);
    job.position = counts.get(job.partition);
  }
  return waiting;
}

// A job whose expected start has passed is still waiting: it is expected at any moment.
const startOf = (job) => (job.state === 'waiting' ? (job.expected < 0 ? -1 : Math.max(job.expected, clock() + 1)) : job.start);

function endOf(job) {
  if (job.state === 'ended') return job.end;
  const begin = startOf(job), end = job.until > 0 ? job.until : begin + Math.min(Math.max(job.limit, 1), 7 * DAY);
  if (job.state === 'running') return Math.max(end, clock() + 1);
  return Math.max(end, begin + Math.min(60, Math.max(1, job.limit)));
}

const PHASES = ['ended', 'running', 'waiting'];

// All jobs as the columns of the report's figure: seconds since the origin.
function columnsOf(origin) {
  const listed = [...board.past.values(), ...board.jobs.values()];
  const drawn = listed.filter((job) => startOf(job) >= 0 && job.rows.length);
  const rows = [], width = [], pieces = new Int32Array(drawn.length), procs = new Int32Array(drawn.length);
  drawn.forEach((job, i) => {
    pieces[i] = job.rows.length;
    procs[i] = job.rows.length === 1 ? job.rows[0][1] : job.cpus;
    for (const [row, count] of job.rows) {
      rows.push(row);
      if (job.rows.length > 1) width.push(count);
    }
  });
  const runs = {
    count: drawn.length, job: Int32Array.from(drawn, (_, i) => i), lost: new Uint8Array(drawn.length), last: Int32Array.from(drawn, (_, i) => i),
    start: Float64Array.from(drawn, (job) => startOf(job) - origin), end: Float64Array.from(drawn, (job) => endOf(job) - origin),
  };
  return { listed, drawn, procs, runs, columns: { row: rows, width, pieces } };
}

function layoutOf() {
  const nodes = [...board.nodes.values()].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  let rows = 0;
  const bands = nodes.map(({ name, cpus }) => {
    const count = Math.min(cpus, 512), band = [name, rows, count, 0];
    rows += count;
    return band;
  });
  const procs = nodes.reduce((sum, one) => sum + (one.usable ? one.cpus : 0), 0);
  return { rows: Math.max(1, rows), unit: 1, bands, procs: Math.max(1, procs) };
}

function seriesOf({ listed, runs, drawn }, origin) {
  const known = listed.filter((job) => job.submit >= 0 || startOf(job) >= 0);
  const came = Float64Array.from(known, (job) => (job.submit >= 0 ? job.submit : startOf(job)) - origin).sort();
  const left = known.map((job) => (startOf(job) >= 0 ? startOf(job) : job.state === 'ended' ? job.end : Infinity) - origin);
  const went = Float64Array.from(left.filter(Number.isFinite)).sort();
  const cpus = Float64Array.from(drawn, (job) => job.cpus);
  const byEnd = sortedBy(runs.end);
  return {
    queue: [cumulative(came), cumulative(went)],
    busy: [cumulative(picked(runs.start, runs.byStart), picked(cpus, runs.byStart)), cumulative(picked(runs.end, byEnd), picked(cpus, byEnd))],
  };
}
