// A policy's runs as boxes, sorted by start, with an index that finds those in a span of time.
const BLOCK = 256;

// Places in order of a key; ties keep the order given.
function sortedBy(keys) {
  const n = keys.length;
  const order = new Int32Array(n);
  let top = 0;
  for (let i = 0; i < n; i += 1) top = Math.max(top, Math.abs(keys[i]));
  if (top < 2147483648 && n < 4194304) {
    const packed = new Float64Array(n); // key and place in one exact number: sorts natively
    for (let i = 0; i < n; i += 1) packed[i] = keys[i] * 4194304 + i;
    packed.sort();
    for (let i = 0; i < n; i += 1) order[i] = packed[i] - Math.floor(packed[i] / 4194304) * 4194304;
    return order;
  }
  return order.map((_, i) => i).sort((a, b) => keys[a] - keys[b] || a - b);
}

function buildModel(jobs, columns, layout) {
  const runs = runsOf(jobs, columns);
  const boxes = boxesOf(jobs, columns, runs, layout);
  return { columns, layout, runs, boxes, last: runs.last };
}

// Runs: the last attempt of each job that has one, then the attempts that were lost.
function runsOf(jobs, columns) {
  const n = jobs.id.length;
  let finished = 0;
  for (let i = 0; i < n; i += 1) finished += columns.done[i];
  const total = finished + columns.lost_job.length;
  const job = new Int32Array(total), lost = new Uint8Array(total);
  const start = new Float64Array(total), end = new Float64Array(total);
  const last = new Int32Array(n).fill(-1);
  let at = 0;
  for (let i = 0; i < n; i += 1) {
    if (!columns.done[i]) continue;
    job[at] = i;
    start[at] = jobs.submit[i] + columns.wait[i];
    end[at] = start[at] + jobs.run[i] + columns.stretch[i];
    last[i] = at;
    at += 1;
  }
  for (let k = 0; k < columns.lost_job.length; k += 1, at += 1) {
    job[at] = columns.lost_job[k];
    start[at] = columns.lost_start[k];
    end[at] = columns.lost_end[k];
    lost[at] = 1;
  }
  return { count: total, job, start, end, lost, last };
}

function boxesOf(jobs, columns, runs, layout) {
  const total = columns.row.length;
  const first = new Int32Array(runs.count), widthAt = new Int32Array(runs.count);
  for (let r = 0, piece = 0, split = 0; r < runs.count; r += 1) {
    first[r] = piece;
    widthAt[r] = split;
    piece += columns.pieces[r];
    if (columns.pieces[r] > 1) split += columns.pieces[r];
  }
  const boxes = {
    count: total,
    start: new Float64Array(total),
    end: new Float64Array(total),
    row: new Int32Array(total),
    rows: new Int32Array(total),
    run: new Int32Array(total),
    latest: new Float64Array(Math.ceil(total / BLOCK)).fill(-Infinity),
  };
  let at = 0;
  runs.byStart = sortedBy(runs.start);
  for (let k = 0; k < runs.count; k += 1) {
    const r = runs.byStart[k];
    const pieces = columns.pieces[r];
    for (let p = 0; p < pieces; p += 1, at += 1) {
      boxes.start[at] = runs.start[r];
      boxes.end[at] = runs.end[r];
      boxes.row[at] = columns.row[first[r] + p];
      boxes.rows[at] = pieces > 1 ? columns.width[widthAt[r] + p] : jobs.procs[runs.job[r]] / layout.unit;
      boxes.run[at] = r;
      const block = Math.floor(at / BLOCK);
      if (runs.end[r] > boxes.latest[block]) boxes.latest[block] = runs.end[r];
    }
  }
  return boxes;
}

// The first place in a sorted column whose value is at least (or above) the one sought.
function lowerBound(values, sought, from = 0, to = values.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] < sought) from = middle + 1;
    else to = middle;
  }
  return from;
}

function upperBound(values, sought, from = 0, to = values.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] <= sought) from = middle + 1;
    else to = middle;
  }
  return from;
}

// Calls visit(box) for every box that overlaps (from, to); stops when visit returns false.
function eachBox(boxes, from, to, visit) {
  const stop = lowerBound(boxes.start, to);
  for (let block = 0; block * BLOCK < stop; block += 1) {
    if (boxes.latest[block] <= from) continue;
    const end = Math.min(stop, (block + 1) * BLOCK);
    for (let box = block * BLOCK; box < end; box += 1) {
      if (boxes.end[box] > from && visit(box) === false) return;
    }
  }
}

// How many boxes a span may hold: exact enough to choose how to draw them.
function boxesWithin(boxes, from, to) {
  const stop = lowerBound(boxes.start, to);
  let count = 0;
  for (let block = 0; block * BLOCK < stop; block += 1) {
    if (boxes.latest[block] > from) count += Math.min(stop - block * BLOCK, BLOCK);
  }
  return count;
}

function boxAt(boxes, time, row, slack) {
  let found = -1;
  eachBox(boxes, time - slack, time + slack, (box) => {
    if (row < boxes.row[box] || row >= boxes.row[box] + boxes.rows[box]) return true;
    found = box;
    return !(boxes.start[box] <= time && time <= boxes.end[box]);
  });
  return found;
}
