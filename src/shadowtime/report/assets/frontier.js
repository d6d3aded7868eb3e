// Policies as points by two metrics that the reader chooses; what another policy beats in both is grey.
const PLOT = { width: 580, height: 288, left: 58, right: 16, top: 14, bottom: 40 };
const SPAN_TICKS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 28800, 57600, 86400, 172800, 345600, 691200, 1382400, 2764800, 8640000, 31536000];
const SVG = 'http://www.w3.org/2000/svg';

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const amount = (value, unit) => (unit === 's' ? span(value) : unit === 'share' ? percent(value) : number(value));

// A scale for some values: logarithmic where they differ by a factor of three, with a margin.
function scaleOf(axis, shown, from, to) {
  const seen = shown.flatMap((i) => [axis.values[i], axis.low[i], axis.high[i]]).filter((value) => value !== null);
  let low = Math.min(...seen), high = Math.max(...seen);
  const points = shown.map((i) => axis.values[i]);
  const log = Math.min(...points) > 0 && Math.max(...points) / Math.min(...points) > 3;
  if (log) low = Math.max(low, Math.min(...points) / 3); // an interval may reach below zero
  const into = log ? Math.log : (value) => value, back = log ? Math.exp : (value) => value;
  const room = (into(high) - into(low)) * 0.1 || Math.abs(into(high)) * 0.1 || 1;
  const a = into(low) - room, b = into(high) + room;
  const place = (value) => from + ((into(Math.max(value, log ? low / 9 : -Infinity)) - a) / (b - a)) * (to - from);
  return { place, log, ticks: ticksOf(axis.unit, log, back(a), back(b), log || low < 0 ? -Infinity : 0) };
}

function ticksOf(unit, log, low, high, least) {
  let found = [];
  if (log && unit === 's') found = SPAN_TICKS;
  else if (log) for (let k = -4; k < 9; k += 1) found.push(...[1, 2, 5].map((m) => m * 10 ** k));
  else {
    const raw = (high - low) / 4;
    const rounds = unit === 's' ? [...SPAN_TICKS, ...SPAN_STEPS].sort((a, b) => a - b) : [];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = rounds.find((size) => size >= raw) || [1, 2, 2.5, 5, 10].map((m) => m * power).find((size) => size >= raw);
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
  }
  found = found.filter((value) => value >= Math.max(low, least) && value <= high);
  const every = Math.ceil(found.length / 6);
  return found.filter((_, i) => i % every === 0);
}

// The policies that no other one in sight beats: as good in both metrics and better in one.
function undominated(x, y, shown) {
  const cost = (axis, i) => (axis.better === 'higher' ? -axis.values[i] : axis.values[i]);
  return shown.filter((i) => !shown.some((j) => cost(x, j) <= cost(x, i) && cost(y, j) <= cost(y, i) &&
    (cost(x, j) < cost(x, i) || cost(y, j) < cost(y, i))));
}

function drawFrontier(world) {
  const drawing = document.querySelector('#frontier svg');
  if (!drawing) return;
  const { axes } = world.summary.figure, { policies } = world.summary;
  const [x, y] = ['x', 'y'].map((side) => axes.find(({ key }) => key === element(`frontier-${side}`).value));
  const shown = policies.map((_, i) => i).filter((i) => !world.muted.has(i));
  const right = PLOT.width - PLOT.right, bottom = PLOT.height - PLOT.bottom;
  const across = scaleOf(x, shown, PLOT.left, right), up = scaleOf(y, shown, bottom, PLOT.top);
  const parts = [];
  const letter = drawing.clientWidth < 400 ? 1.45 : drawing.clientWidth < 470 ? 1.2 : 1; // as the style sheet has it
  for (const value of up.ticks) {
    const at = up.place(value);
    parts.push(shape('path', { class: 'grid', d: `M${PLOT.left} ${at.toFixed(1)}H${right}` }),
      shape('text', { x: PLOT.left - 7, y: at + 4, 'text-anchor': 'end' }, amount(value, y.unit)));
  }
  let free = -Infinity;
  for (const value of across.ticks) {
    const at = across.place(value), half = amount(value, x.unit).length * 3.4 * letter;
    parts.push(shape('path', { class: 'grid', d: `M${at.toFixed(1)} ${PLOT.top}V${bottom}` }));
    if (at - half < free) continue;
    parts.push(shape('text', { x: at, y: bottom + 15, 'text-anchor': 'middle' }, amount(value, x.unit)));
    free = at + half + 6;
  }
  const words = (axis, scale) => `${axis.label}${scale.log ? ', logarithmic' : ''}`;
  parts.push(shape('text', { class: 'axis-label', x: right, y: PLOT.height - 6, 'text-anchor': 'end' }, `${words(x, across)} →`),
    shape('text', { class: 'axis-label', x: PLOT.left + 4, y: PLOT.top + 4 }, `↑ ${words(y, up)}`));
  const best = undominated(x, y, shown);
  const edge = [...best].sort((a, b) => across.place(x.values[a]) - across.place(x.values[b]))
    .map((i) => [across.place(x.values[i]), up.place(y.values[i])]);
  if (edge.length > 1) {
    const steps = edge.slice(1).map(([ex, ey]) => (x.better === y.better ? `H${ex.toFixed(1)}V${ey.toFixed(1)}` : `L${ex.toFixed(1)} ${ey.toFixed(1)}`));
    parts.push(shape('path', { class: 'edge', d: `M${edge[0].map((v) => v.toFixed(1)).join(' ')}${steps.join('')}` }));
  }
  const corners = x.better === y.better ? edge.slice(1).flatMap(([ex, ey], k) => [ // the lines of the edge, as thin boxes
    { left: edge[k][0], right: ex, top: edge[k][1] - 1, bottom: edge[k][1] + 1 },
    { left: ex - 1, right: ex + 1, top: Math.min(edge[k][1], ey), bottom: Math.max(edge[k][1], ey) }]) : [];
  parts.push(...pointsOf(world, { x, y, across, up, shown, best, letter, corners }));
  drawing.replaceChildren(...parts);
  drawing.setAttribute('aria-label', `${x.label} and ${y.label}: ${shown.map((i) =>
    `${policies[i].name} ${amount(x.values[i], x.unit)} and ${amount(y.values[i], y.unit)}`).join('; ')}`);
  const beaten = shown.length - best.length;
  element('frontier-note').textContent = `${x.better === 'lower' && y.better === 'lower' ? 'Best is the lower left corner. ' : ''}` +
    `${beaten ? `Grey: another policy is better in one and no worse in the other (${beaten}). ` : 'No policy is beaten in both. '}` +
    `${x.low[0] !== null || y.low[0] !== null ? 'Crosses: 95 % intervals.' : ''}`;
}

function pointsOf(world, { x, y, across, up, shown, best, letter, corners }) {
  const taken = shown.map((i) => ({ left: across.place(x.values[i]) - 7, right: across.place(x.values[i]) + 7,
    top: up.place(y.values[i]) - 7, bottom: up.place(y.values[i]) + 7 }));
  taken.push(...corners);
  for (const i of shown) { // no name on the line of an interval
    const px = across.place(x.values[i]), py = up.place(y.values[i]);
    if (x.low[i] !== null) taken.push({ left: across.place(x.low[i]), right: across.place(x.high[i]), top: py - 2, bottom: py + 2 });
    if (y.low[i] !== null) taken.push({ left: px - 2, right: px + 2, top: up.place(y.high[i]), bottom: up.place(y.low[i]) });
  }
  const clash = (box) => taken.some((one) => box.left < one.right && box.right > one.left && box.top < one.bottom && box.bottom > one.top);
  const order = [...shown].sort((a, b) => best.includes(b) - best.includes(a));
  return order.map((i) => {
    const { name } = world.summary.policies[i];
    const px = across.place(x.values[i]), py = up.place(y.values[i]);
    const group = shape('g', { class: `point ${policyMark(i)}${best.includes(i) ? '' : ' beaten'}`, 'data-of': i, 'data-x': x.values[i], 'data-y': y.values[i] });
    const cut = name.length > 26 ? `${name.slice(0, 25)}…` : name;
    const wide = cut.length * 6.4 * letter + 4, tall = 11 * letter;
    const spots = [[11, 4, 'start'], [-11, 4, 'end'], [0, -11, 'middle'], [0, 20, 'middle'], [10, -9, 'start'], [10, 17, 'start'], [-10, -9, 'end'], [-10, 17, 'end'], [11, 30, 'start'], [11, -22, 'start']]
      .map(([dx, dy, anchor]) => {
        const left = px + dx - (anchor === 'end' ? wide : anchor === 'middle' ? wide / 2 : 0);
        return { dx, dy, anchor, box: { left, right: left + wide, top: py + dy - tall, bottom: py + dy + 3 } };
      });
    const inside = ({ box }) => box.left > PLOT.left && box.right < PLOT.width && box.top > 0 && box.bottom < PLOT.height - PLOT.bottom + 4;
    const spot = spots.find((one) => inside(one) && !clash(one.box)) || spots.find(inside) || spots[0];
    taken.push(spot.box);
    if (x.low[i] !== null) group.append(shape('path', { class: 'whisker', d: `M${across.place(x.low[i]).toFixed(1)} ${py.toFixed(1)}H${across.place(x.high[i]).toFixed(1)}` }));
    if (y.low[i] !== null) group.append(shape('path', { class: 'whisker', d: `M${px.toFixed(1)} ${up.place(y.low[i]).toFixed(1)}V${up.place(y.high[i]).toFixed(1)}` }));
    group.append(shape('circle', { cx: px.toFixed(1), cy: py.toFixed(1), r: 5.5 }),
      shape('text', { x: (px + spot.dx).toFixed(1), y: (py + spot.dy).toFixed(1), 'text-anchor': spot.anchor }, cut),
      shape('title', {}, `${name}: ${x.label} ${amount(x.values[i], x.unit)}, ${y.label} ${amount(y.values[i], y.unit)}`));
    return group;
  });
}

// Every axis that can be chosen: a row per metric, with the interval of each policy where there is one.
function frontierCsv(world) {
  const { policies } = world.summary;
  return csvText([['metric', 'unit', ...policies.flatMap(({ name }) => [name, `${name} low`, `${name} high`])],
    ...world.summary.figure.axes.map((axis) => [axis.label, axis.unit,
      ...policies.flatMap((_, i) => [axis.values[i], axis.low[i], axis.high[i]])])]);
}

function attachFrontier(world) {
  for (const side of ['x', 'y']) {
    const select = element(`frontier-${side}`);
    if (select) select.addEventListener('change', () => drawFrontier(world));
  }
  if (element('frontier')) new ResizeObserver(() => drawFrontier(world)).observe(element('frontier'));
}
