// Numbers as the tables write them: separators, about four digits, spans in two units.
const MINUS = '\u2212';
const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  let text;
  if (Number.isInteger(value) || size >= 1000) text = GROUPED.format(value);
  else if (size >= 10) text = value.toFixed(1);
  else if (size >= 1) text = value.toFixed(2);
  else text = String(Number(value.toPrecision(3)));
  return text.replace('-', MINUS);
}

function percent(share) {
  if (!Number.isFinite(share)) return '–';
  const points = 100 * share;
  return points.toFixed(Math.abs(points) >= 100 ? 0 : 1).replace('-', MINUS) + '\u202f%';
}

// Halves go to the even number, as in the tables that were written with the page.
function rounded(value) {
  const low = Math.floor(value);
  return value - low === 0.5 ? low + (low % 2) : Math.round(value);
}

const SPANS = [[86400, 'd', 3600, 'h'], [3600, 'h', 60, 'min'], [60, 'min', 1, 's']];

function span(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  const sign = seconds < 0 ? MINUS : '';
  let left = Math.abs(seconds);
  if (left < 60) return `${sign}${number(left < 10 ? left : rounded(left))} s`;
  left = rounded(left);
  for (const [size, unit, small, smallUnit] of SPANS) {
    if (left < size) continue;
    const near = rounded(left / small) * small;
    const whole = Math.floor(near / size);
    const rest = (near - whole * size) / small;
    return `${sign}${number(whole)} ${unit}${rest ? ` ${rest} ${smallUnit}` : ''}`;
  }
  return `${sign}${left} s`;
}

// A moment: the log's calendar where its header gives one, else days since the first submission.
function moment(seconds, epoch, zone = ' UTC') {
  const two = (value) => String(value).padStart(2, '0');
  const at = Math.floor(seconds);
  if (epoch !== null) {
    const date = new Date((epoch + at) * 1000);
    return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} ` +
      `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}${zone}`;
  }
  const day = Math.floor(at / 86400);
  const rest = at - day * 86400;
  return `day ${number(day)}, ${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:` +
    two(rest % 60);
}

// Twelve colours, then the same ones hollow or dashed: as the style sheet and markup.py have it.
const POLICY_COLOURS = 12;
const policyMark = (place) => `p${place % POLICY_COLOURS}${place >= POLICY_COLOURS ? ' again' : ''}`;

function memory(kilobytes) {
  const units = ['KB', 'MB', 'GB', 'TB', 'PB'];
  let size = kilobytes, unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${number(size)} ${units[unit]}`;
}

const element = (id) => document.getElementById(id);

// Markup is never built from text: nodes are, so that no name can become an element.
function node(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === 'class') made.className = value;
    else if (key === 'style') made.style.cssText = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
