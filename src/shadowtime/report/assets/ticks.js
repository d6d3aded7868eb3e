// Ticks of a time axis: round steps, calendar months and years where the log has a calendar.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 432000, 864000, 1728000, 4320000, 8640000, 17280000, 31536000, 63072000, 157680000];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function timeTicks(from, to, room, epoch) {
  const least = (to - from) / Math.max(2, room);
  if (epoch !== null && least > 10 * 86400) return monthTicks(from, to, least, epoch);
  const step = STEPS.find((candidate) => candidate >= least) || STEPS[STEPS.length - 1];
  const shift = epoch === null ? 0 : epoch % step;
  const ticks = [];
  for (let k = Math.ceil((from + shift) / step); k * step - shift <= to; k += 1) {
    const at = k * step - shift + 0; // plus 0: no minus zero
    ticks.push({ at, label: tickLabel(at, step, epoch), hours: step < 86400 });
  }
  return ticks;
}

const twoDigits = (value) => String(value).padStart(2, '0');

function tickLabel(at, step, epoch) {
  const seconds = epoch === null ? at : epoch + at;
  if (step >= 86400) return dayLabel(at, epoch);
  const inDay = ((seconds % 86400) + 86400) % 86400;
  return `${twoDigits(Math.floor(inDay / 3600))}:${twoDigits(Math.floor(inDay / 60) % 60)}` +
    (step < 60 ? `:${twoDigits(Math.floor(inDay % 60))}` : '');
}

function dayLabel(at, epoch) {
  if (epoch === null) return `day ${number(Math.floor(at / 86400))}`;
  const date = new Date((epoch + at) * 1000);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

// The days in view where the ticks are hours: the first one at the left edge, always.
function dayTicks(from, to, epoch) {
  const shift = epoch === null ? 0 : ((epoch % 86400) + 86400) % 86400;
  const days = [{ at: from, label: dayLabel(Math.max(0, from), epoch) }];
  for (let k = Math.ceil((from + shift) / 86400); k * 86400 - shift <= to; k += 1) {
    const at = k * 86400 - shift;
    if (at > from && at >= 0) days.push({ at, label: dayLabel(at, epoch) });
  }
  return days;
}

function monthTicks(from, to, least, epoch) {
  const months = [1, 2, 3, 6, 12, 24, 60, 120].find((m) => m * 30 * 86400 >= least) || 240;
  const first = new Date((epoch + from) * 1000);
  const ticks = [];
  let month = first.getUTCFullYear() * 12 + first.getUTCMonth();
  month = Math.ceil(month / months) * months;
  for (;; month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1) / 1000 - epoch;
    if (at > to) return ticks;
    const year = Math.floor(month / 12), label = months % 12 ? `${MONTHS[month % 12]} ${year}` : String(year);
    if (at >= from) ticks.push({ at, label });
  }
}

// Ticks of a plain axis from 0: at most `room` round steps.
function plainTicks(top, room) {
  if (!(top > 0)) return [0];
  const raw = top / room;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let at = 0; at <= top * 1.0001; at += step) ticks.push(at);
  return ticks;
}

// The highest value that does not exceed three times the median: one outlier flattens nothing.
function robustTop(values) {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b); // as in page/chart.py
  if (!known.length) return 0;
  const middle = known[Math.floor((known.length - 1) / 2)];
  return middle > 0 ? known.filter((value) => value <= 3 * middle).pop() : known[known.length - 1];
}
