// Level of detail: the rows seen from afar as tiles, each pixel what covers most of it. From so far
// that a job is narrower than a pixel rows mean nothing: there each column stacks how many processors
// the classes use, so a year shows its load.
// A tile is drawn once and then only scaled, so a frame costs the same for ten jobs or a million.
const TILE = 512;
const KEPT = 96;
const BUDGET = 7; // milliseconds of tile making in one frame
const COARSEST = 1024; // pixels of the whole span at level 0

function makeTiles(model, length) {
  let tiles = new Map();
  let setting = null;
  const sums = { values: new Float32Array(0) };
  const secondsPerTile = (level) => (length / COARSEST) * TILE / 2 ** level;

  // Forget everything that was drawn for other colours, rows or sizes.
  function configure(next) {
    if (setting && setting.key === next.key) return;
    setting = { ...next, rgb: next.classes.colours.map(rgb) };
    tiles = new Map();
  }

  function make(level, index) {
    const { height } = setting;
    const count = setting.rgb.length;
    const need = count * TILE * height;
    if (sums.values.length < need) sums.values = new Float32Array(need);
    else sums.values.fill(0, 0, need);
    add(secondsPerTile(level), index);
    const picture = stacksAt(level) && setting.low === 0 && setting.high === 1 ? stacked : mixed;
    const canvas = document.createElement('canvas');
    canvas.width = TILE;
    canvas.height = height;
    canvas.getContext('2d').putImageData(picture(count, height), 0, 0);
    tiles.set(`${level}/${index}`, canvas);
    if (tiles.size > KEPT) tiles.delete(tiles.keys().next().value);
  }

  // Adds up how much of each pixel each class covers. Pixels lie column by column.
  function add(seconds, index) {
    const { height, low, high, classes } = setting;
    const { boxes } = model;
    const from = index * seconds, perPixel = TILE / seconds;
    const bottom = low * model.layout.rows, perRow = height / ((high - low) * model.layout.rows);
    const values = sums.values, area = TILE * height;
    eachBox(boxes, from, from + seconds, (box) => {
      const y0 = Math.max(0, (boxes.row[box] - bottom) * perRow);
      const y1 = Math.min(height, (boxes.row[box] + boxes.rows[box] - bottom) * perRow);
      if (y1 <= y0) return;
      const x0 = Math.max(0, (boxes.start[box] - from) * perPixel);
      const x1 = Math.min(TILE, (boxes.end[box] - from) * perPixel);
      const base = classes.of[boxes.run[box]] * area;
      const firstRow = Math.floor(y0), lastRow = Math.min(height, Math.ceil(y1));
      for (let x = Math.floor(x0); x < x1; x += 1) {
        const wide = Math.min(x + 1, x1) - Math.max(x, x0);
        const column = base + x * height;
        for (let y = firstRow; y < lastRow; y += 1) {
          values[column + y] += wide * (Math.min(y + 1, y1) - Math.max(y, y0));
        }
      }
    });
  }

  // The class that covers most of a pixel gives the colour, all of them together how full it is.
  // Mixing the colours instead would show classes that are not there: orange and blue make green.
  function mixed(count, height) {
    const image = new ImageData(TILE, height);
    const values = sums.values, area = TILE * height, colours = setting.rgb;
    for (let x = 0; x < TILE; x += 1) {
      for (let y = 0; y < height; y += 1) {
        const at = x * height + y;
        let most = 0, all = 0, colour = null;
        for (let c = 0; c < count; c += 1) {
          const share = values[c * area + at];
          all += share;
          if (share > most) { most = share; colour = colours[c]; }
        }
        if (!colour) continue;
        const pixel = ((height - 1 - y) * TILE + x) * 4; // row 0 lies at the bottom
        image.data[pixel] = colour[0];
        image.data[pixel + 1] = colour[1];
        image.data[pixel + 2] = colour[2];
        image.data[pixel + 3] = 255 * Math.min(1, all);
      }
    }
    return image;
  }

  // Seconds below which a pixel shows single jobs: half of the run that the typical processor-second is part of.
  let typical = 0;
  function stacksAt(level) {
    if (!typical) {
      const { boxes } = model;
      let area = 0, weighted = 0;
      for (let box = 0; box < boxes.start.length; box += 1) {
        const lasted = boxes.end[box] - boxes.start[box], size = lasted * boxes.rows[box];
        area += size;
        weighted += size * lasted;
      }
      typical = weighted / Math.max(area, 1) / 2 || 1;
    }
    return secondsPerTile(level) / TILE > typical;
  }

  function stacked(count, height) {
    const image = new ImageData(TILE, height);
    const values = sums.values, area = TILE * height;
    for (let x = 0; x < TILE; x += 1) {
      let from = 0;
      for (let c = 0; c < count; c += 1) {
        const base = c * area + x * height;
        let used = 0;
        for (let y = 0; y < height; y += 1) used += values[base + y];
        const [red, green, blue] = setting.rgb[c];
        for (let y = Math.round(from); y < Math.min(height, Math.round(from + used)); y += 1) {
          image.data.set([red, green, blue, 255], ((height - 1 - y) * TILE + x) * 4);
        }
        from += used;
      }
    }
    return image;
  }

  // The tile itself, or the part of a coarser one that lies there until it is made.
  function nearest(level, index) {
    for (let up = 0; up <= level; up += 1) {
      const canvas = tiles.get(`${level - up}/${Math.floor(index / 2 ** up)}`);
      if (!canvas) continue;
      const size = TILE / 2 ** up;
      return { canvas, x: (index - Math.floor(index / 2 ** up) * 2 ** up) * size, size };
    }
    return null;
  }

  const levelOf = (view, width) =>
    Math.max(0, Math.ceil(Math.log2(((width / (view.to - view.from)) * length) / COARSEST) - 0.25));

  // Draws the view and returns true while better tiles are still to be made.
  function draw(context, view, width, started) {
    const perSecond = width / (view.to - view.from);
    const level = levelOf(view, width);
    const seconds = secondsPerTile(level);
    const first = Math.floor(view.from / seconds), last = Math.floor(view.to / seconds);
    let waiting = false, made = 0;
    context.imageSmoothingEnabled = true;
    for (let index = Math.max(0, first); index <= last && index * seconds < length; index += 1) {
      if (!tiles.has(`${level}/${index}`)) {
        if (made && performance.now() - started > BUDGET) waiting = true;
        else { make(level, index); made += 1; }
      }
      const found = nearest(level, index);
      if (!found) continue;
      const left = (index * seconds - view.from) * perSecond;
      context.drawImage(found.canvas, found.x, 0, found.size, found.canvas.height,
        left, 0, seconds * perSecond, setting.height);
    }
    return waiting;
  }

  // Whether a view of this width is drawn as load rather than as jobs.
  const showsLoad = (view, width) => view.low === 0 && view.high === 1 && stacksAt(levelOf(view, width));
  return { configure, draw, showsLoad };
}
