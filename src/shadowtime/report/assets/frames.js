// The time axis, and a frame whenever something changed.
function drawAxis(world) {
  const canvas = element('axis'), context = canvas.getContext('2d');
  const scale = fit(canvas);
  const { from, to } = world.view;
  const place = (at) => ((at - from) / (to - from)) * canvas.width;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.textBaseline = 'top';
  const row = (ticks, top, centred) => {
    let free = -Infinity;
    for (const tick of ticks) {
      const x = place(tick.at), wide = context.measureText(tick.label).width;
      const left = Math.min(Math.max(centred ? x - wide / 2 : x, 0), canvas.width - wide);
      if (left < free) continue;
      context.fillText(tick.label, left, top * scale);
      free = left + wide + 10 * scale;
    }
  };
  context.font = `${11.5 * scale}px ${world.theme.font}`;
  context.fillStyle = world.theme.muted;
  row(world.ticks, 5, true);
  world.days = world.ticks.some((tick) => tick.hours) ? dayTicks(from, to, world.figure.epoch) : [];
  // the first day gives way to the next one if they would overlap
  if (world.days.length > 1 && place(world.days[1].at) < context.measureText(world.days[0].label).width * 1.1 + 10 * scale) world.days.shift();
  context.font = `600 ${11.5 * scale}px ${world.theme.font}`;
  context.fillStyle = world.theme.text;
  row(world.days, 20, false);
  canvas.setAttribute('aria-label', `Time axis from ${moment(Math.max(0, from), world.figure.epoch, world.figure.zone)} to ${moment(to, world.figure.epoch, world.figure.zone)}`);
}

// A slow machine draws the strips in every fourth frame while things move, and all of them at rest.
const SLOW = 22; // milliseconds between frames

function drawFrame(world, { strips = true } = {}) {
  const started = performance.now();
  const room = Math.max(2, Math.floor(element('axis').clientWidth / 110));
  world.ticks = timeTicks(world.view.from, world.view.to, room, world.figure.epoch);
  let waiting = false;
  const printing = document.documentElement.dataset.printing;
  const seen = ({ canvas }) => printing || !world.hidden.has(canvas);
  for (const panel of world.panels.filter(seen)) waiting = panel.draw(started) || waiting;
  drawAxis(world);
  if (world.overview) world.overview.draw();
  if (strips) for (const strip of world.strips.filter(seen)) strip.draw();
  return waiting;
}

function frameLoop(world) {
  let pending = false, moved = false, last = 0, pace = 16;
  const frame = (now) => {
    pending = false;
    if (now - last < 300) pace += (now - last - pace) / 5;
    last = now;
    world.frames += 1;
    const strips = !moved || pace < SLOW || world.frames % 4 === 0;
    moved = false;
    if (drawFrame(world, { strips }) || !strips) ask();
  };
  const ask = () => {
    if (pending || !world.panels) return;
    pending = true;
    requestAnimationFrame(frame);
  };
  world.redraw = ask;
  world.moved = () => {
    moved = true;
    if (world.tip) world.tip.hide(); // what it describes is no longer under it
    if (world.scope) world.looked();
    ask();
  };
}

// What is scrolled out of sight is not drawn until it comes back.
function watchVisible(world) {
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) world.hidden.delete(target);
      else world.hidden.add(target);
    }
    world.redraw();
  }, { rootMargin: '120px' });
  for (const { canvas } of [...world.panels, ...world.strips]) observer.observe(canvas);
}
