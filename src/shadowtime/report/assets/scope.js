// Which jobs are looked at: those of a user, an account, a partition, a QOS.
const FILTERS = [['user', 'User', 'User'], ['group', 'Account', 'Group'],
  ['partition', 'Partition', 'Partition'], ['queue', 'QOS', 'Queue']];

function nameOf(world, column, value) {
  const known = world.figure.names[column];
  return (known && known[value]) || (value < 0 ? 'unknown' : String(value));
}

function filterLabel(world, column) {
  const [, named, plain] = FILTERS.find(([key]) => key === column);
  return world.figure.names[column] ? named : plain;
}

function makeScope(world) {
  const { counted } = world.jobs; // what --window and --where left, if not all jobs
  const kept = (keep) => (keep ? keep.reduce((sum, one) => sum + one, 0) : world.jobs.id.length);
  const scope = { chosen: new Map(), keep: counted || null, key: '', kept: kept(counted) };
  scope.set = (column, value) => {
    if (value === null) scope.chosen.delete(column);
    else scope.chosen.set(column, value);
    const n = world.jobs.id.length;
    scope.keep = counted ? Uint8Array.from(counted) : scope.chosen.size ? new Uint8Array(n).fill(1) : null;
    for (const [key, wanted] of scope.chosen) {
      const values = world.jobs[key];
      for (let i = 0; i < n; i += 1) if (values[i] !== wanted) scope.keep[i] = 0;
    }
    scope.kept = kept(scope.keep);
    scope.key = [...scope.chosen].map((pair) => pair.join('=')).join('&');
  };
  scope.words = () => [...scope.chosen].map(([column, value]) =>
    `${filterLabel(world, column).toLowerCase().replace('qos', 'QOS')} ${nameOf(world, column, value)}`).join(', ');
  return scope;
}

// The values of a column with their number of jobs, the most frequent first.
function valuesOf(column) {
  const found = new Map();
  for (const value of column) found.set(value, (found.get(value) || 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

function attachFilters(world, changed) {
  const holder = element('filters');
  for (const [column] of FILTERS) {
    const values = world.jobs[column] ? valuesOf(world.jobs[column]) : [];
    if (values.length < 2) continue;
    const label = filterLabel(world, column);
    const select = node('select', { id: `filter-${column}` }, node('option', { value: '' }, 'all'),
      ...values.map(([value, count]) => node('option', { value: String(value) },
        `${nameOf(world, column, value)} (${number(count)})`)));
    select.addEventListener('change', () => {
      world.scope.set(column, select.value === '' ? null : Number(select.value));
      changed();
    });
    holder.append(node('label', {}, `${label} `, select));
  }
  if (!holder.children.length) return;
  const clear = node('button', { type: 'button', id: 'clear' }, 'All jobs');
  clear.addEventListener('click', () => { clearFilters(world); changed(); });
  holder.append(clear);
  holder.hidden = false;
}

function clearFilters(world) {
  for (const [column] of FILTERS) setFilter(world, column, null);
}

function setFilter(world, column, value) {
  world.scope.set(column, value);
  const select = element(`filter-${column}`);
  if (select) select.value = value === null ? '' : String(value);
}
