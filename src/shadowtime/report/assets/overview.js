// The whole span at a glance, with the part in sight marked.
function makeOverview(world, canvas) {
  const context = canvas.getContext('2d', { alpha: false });
  let picture = null, key = '';
  return {
    canvas,
    draw() {
      const scale = fit(canvas);
      const { width, height } = canvas;
      const policy = world.panels[0].policy;
      const series = world.series[policy];
      const next = `${width}/${height}/${policy}/${world.theme.name}/${Boolean(series)}`;
      if (key !== next) {
        key = next;
        picture = document.createElement('canvas');
        picture.width = width;
        picture.height = height;
        const paint = picture.getContext('2d', { alpha: false });
        paint.fillStyle = world.theme.panel;
        paint.fillRect(0, 0, width, height);
        paint.fillStyle = world.theme.muted;
        const line = series ? means(...series.busy, -world.figure.end * 0.01, world.figure.end * 1.01, width) : [];
        paint.globalAlpha = 0.55;
        line.forEach((busy, x) => {
          const tall = (Math.min(busy / world.figure.rows[policy].procs, 1)) * height;
          paint.fillRect(x, height - tall, 1, tall);
        });
      }
      context.drawImage(picture, 0, 0);
      const x = (time) => ((time + world.figure.end * 0.01) / (world.figure.end * 1.02)) * width;
      const left = x(world.view.from), right = Math.max(x(world.view.to), left + 2 * scale);
      context.fillStyle = world.theme.shade;
      context.fillRect(0, 0, left, height);
      context.fillRect(right, 0, width - right, height);
      context.fillStyle = world.theme.accent;
      context.fillRect(left - scale, 0, 2 * scale, height);
      context.fillRect(right - scale, 0, 2 * scale, height);
    },
  };
}
