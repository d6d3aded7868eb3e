// What is in sight: a span of time that all figures share, and a range of rows.
const CLOSEST = 20; // seconds: nothing shorter is worth a whole screen

function makeView(length, redraw) {
  const full = { from: -length * 0.01, to: length * 1.01 };
  const view = { ...full, full, low: 0, high: 1, length };
  const listeners = [redraw];
  let moving = null;

  const tell = () => listeners.forEach((listener) => listener());

  view.set = (from, to) => {
    const wanted = Math.min(Math.max(to - from, CLOSEST), full.to - full.from);
    const centre = (from + to) / 2;
    view.from = Math.min(Math.max(centre - wanted / 2, full.from), full.to - wanted);
    view.to = view.from + wanted;
    tell();
  };
  view.setRows = (low, high) => {
    const wanted = Math.min(Math.max(high - low, 0.002), 1);
    view.low = Math.min(Math.max(low, 0), 1 - wanted);
    view.high = view.low + wanted;
    tell();
  };
  view.isFull = () => view.to - view.from >= (full.to - full.from) * 0.9999;
  view.stop = () => { moving = null; };
  view.zoom = (factor, at = (view.from + view.to) / 2) => {
    view.stop();
    const wanted = Math.min(Math.max((view.to - view.from) * factor, CLOSEST), full.to - full.from);
    const share = (at - view.from) / (view.to - view.from);
    view.set(at - share * wanted, at + (1 - share) * wanted);
  };
  view.zoomRows = (factor, at) => {
    const size = Math.min(1, (view.high - view.low) * factor);
    const share = (at - view.low) / (view.high - view.low);
    view.setRows(at - share * size, at + (1 - share) * size);
  };
  view.pan = (seconds) => { view.stop(); view.set(view.from + seconds, view.to + seconds); };
  view.panRows = (share) => view.setRows(view.low + share, view.high + share);
  view.all = () => { view.setRows(0, 1); view.glide(full.from, full.to); };

  // Moves there in a third of a second: the eye keeps the context.
  view.glide = (from, to) => {
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) { view.set(from, to); return; }
    const start = performance.now();
    const before = { from: view.from, to: view.to };
    const mine = {};
    moving = mine;
    const step = (now) => {
      if (moving !== mine) return;
      const t = Math.min(1, Math.max(0, now - start) / 350);
      const ease = t * t * (3 - 2 * t);
      // sizes shrink by equal factors, so that a long way in does not rush at its end
      const size = (before.to - before.from) * ((to - from) / (before.to - before.from)) ** ease;
      const far = before.to - before.from - (to - from);
      const share = far ? (before.to - before.from - size) / far : ease;
      const left = before.from + (from - before.from) * share;
      view.set(left, left + size);
      if (t < 1) requestAnimationFrame(step);
      else moving = null;
    };
    requestAnimationFrame(step);
  };
  return view;
}
