// Every chart as a picture and as numbers.
function quoted(value) {
  const text = String(value ?? '');
  return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const csvText = (rows) => `${rows.map((row) => row.map(quoted).join(',')).join('\n')}\n`;

function tableCsv(table) {
  return csvText([...table.rows].map((row) => [...row.cells].map((cell) =>
    cell.dataset.value ?? cell.textContent.trim().replace(/\s+/g, ' '))));
}

function linesCsv(world, figure) {
  const lines = [...figure.querySelectorAll('.line')];
  const values = lines.map((line) => line.dataset.values.split(' '));
  const names = lines.map((line) => line.dataset.name);
  const count = values[0]?.length || 0;
  const low = Number(figure.dataset.low), high = Number(figure.dataset.high);
  const begin = Number(figure.dataset.begin), end = Number(figure.dataset.end);
  const timed = Number.isFinite(begin);
  const x = (k) => (timed ? begin + ((k + 0.5) / count) * (end - begin) : low * (high / low) ** (k / (count - 1)));
  const head = timed ? ['second', 'time'] : [figure.dataset.cdf === 'wait' ? 'wait_s' : 'bounded_slowdown'];
  const rows = Array.from({ length: count }, (_, k) => [
    ...(timed ? [Math.round(x(k)), moment(x(k) - world.figure.origin, world.figure.epoch)] : [x(k).toPrecision(6)]),
    ...values.map((line) => (line[k] === '-' ? '' : line[k]))]);
  return csvText([[...head, ...names], ...rows]);
}

function stripCsv(world, strip) {
  const shown = strip.lines.map((line, policy) => [line, world.summary.policies[policy].name]).filter(([line]) => line);
  const count = shown[0]?.[0].length || 0;
  const { from, to } = world.view;
  const at = (k) => from + ((k + 0.5) / count) * (to - from);
  return csvText([['second', 'time', ...shown.map(([, name]) => name)],
    ...Array.from({ length: count }, (_, k) => [Math.round(at(k) + world.figure.origin), moment(at(k), world.figure.epoch),
      ...shown.map(([line]) => line[k].toPrecision(6))])]);
}

// The jobs of a panel that run in view.
function panelCsv(world, panel) {
  const { runs } = panel.model;
  const { jobs, figure, view } = world;
  const named = FILTERS.filter(([column]) => jobs[column]);
  const rows = [['job', 'submit', 'start', 'end', 'procs', ...named.map(([column]) => column), 'lost']];
  for (let r = 0; r < runs.count; r += 1) {
    const job = runs.job[r];
    if (runs.end[r] < view.from || runs.start[r] > view.to || (world.scope.keep && !world.scope.keep[job])) continue;
    rows.push([jobs.id[job], jobs.submit[job] + figure.origin, runs.start[r] + figure.origin, runs.end[r] + figure.origin,
      jobs.procs[job], ...named.map(([column]) => nameOf(world, column, jobs[column][job])), runs.lost[r]]);
  }
  return csvText(rows);
}

const DRAWN = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-family', 'text-anchor'];

// A drawing with its styles inside, as a picture of twice its size.
async function drawingPicture(drawing) {
  const copy = drawing.cloneNode(true);
  const from = drawing.querySelectorAll('*'), to = copy.querySelectorAll('*');
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of DRAWN) to[i].style.setProperty(name, style.getPropertyValue(name));
  });
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', width * 2);
  copy.setAttribute('height', height * 2);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await picture.decode();
  return blank(width * 2, height * 2, (context) => context.drawImage(picture, 0, 0));
}

function blank(width, height, draw) {
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(width);
  canvas.height = Math.ceil(height);
  const context = canvas.getContext('2d');
  context.fillStyle = themeColour('--bg');
  context.fillRect(0, 0, canvas.width, canvas.height);
  draw(context);
  return canvas;
}

function tablePicture(table) {
  const box = table.getBoundingClientRect();
  return blank(box.width * 2, box.height * 2, (context) => {
    context.scale(2, 2);
    for (const cell of table.querySelectorAll('caption:not(.sr), th, td')) {
      const at = cell.getBoundingClientRect(), style = getComputedStyle(cell);
      const x = at.left - box.left, y = at.top - box.top;
      context.fillStyle = style.backgroundColor;
      context.fillRect(x + 1, y + 1, at.width - 2, at.height - 2);
      context.fillStyle = style.color;
      context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      context.textBaseline = 'middle';
      const right = style.textAlign === 'right' || style.textAlign === 'end', centre = style.textAlign === 'center';
      context.textAlign = centre ? 'center' : right ? 'right' : 'left';
      context.fillText(cell.textContent.trim().replace(/\s+/g, ' '),
        centre ? x + at.width / 2 : right ? x + at.width - 4 : x + 4, y + at.height / 2, at.width - 4);
    }
  });
}

function save(name, blob) {
  const address = URL.createObjectURL(blob);
  node('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function exportButtons(title, csv, picture) {
  const file = title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').toLowerCase().slice(0, 60) || 'chart';
  const button = (kind, act) => {
    const made = node('button', { type: 'button', 'aria-label': `Download ${title} as ${kind}`, 'data-export': kind.toLowerCase() }, kind);
    made.addEventListener('click', act);
    return made;
  };
  return node('span', { class: 'exports' },
    button('CSV', () => save(`${file}.csv`, new Blob([csv()], { type: 'text/csv' }))),
    button('PNG', async () => (await picture()).toBlob((blob) => save(`${file}.png`, blob), 'image/png')));
}

function attachExports(world) {
  document.querySelectorAll('figure').forEach((figure) => {
    const drawing = figure.querySelector('svg'), table = figure.querySelector('table[data-csv]');
    const caption = figure.querySelector('figcaption');
    if (figure.id === 'frontier') {
      caption.append(exportButtons('Policies by metric', () => frontierCsv(world), () => drawingPicture(drawing)));
    } else if (drawing && figure.querySelector('.line')) {
      caption.append(exportButtons(drawing.getAttribute('aria-label'),
        () => (table ? tableCsv(table) : linesCsv(world, figure)), () => drawingPicture(drawing)));
    } else if (table) {
      caption.append(exportButtons(table.dataset.csv, () => tableCsv(table), () => tablePicture(table)));
    }
  });
  document.querySelectorAll(':not(figure) > .scroll > table[data-csv]').forEach((table) => {
    const buttons = exportButtons(table.dataset.csv, () => tableCsv(table), () => tablePicture(table));
    const heading = table.id === 'scored' && element('selection').querySelector('h3');
    if (heading) heading.append(buttons);
    else table.parentElement.before(buttons);
  });
  if (!world.panels) return;
  for (const strip of world.strips) {
    const heading = strip.canvas.previousElementSibling;
    const buttons = exportButtons(strip.canvas.getAttribute('aria-label').split(' over time')[0], () => stripCsv(world, strip),
      () => strip.canvas);
    if (heading && heading.tagName === 'H3') heading.append(buttons);
    else strip.canvas.before(buttons);
  }
  for (const panel of world.panels) {
    panel.holder.append(exportButtons(panel.canvas.getAttribute('aria-label'), () => panelCsv(world, panel), () => panel.canvas));
  }
}
