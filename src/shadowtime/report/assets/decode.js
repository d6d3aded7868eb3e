// Columns from the page's data elements: base64, deflate, byte planes, differences.
function fromBase64(text) {
  if (typeof Uint8Array.fromBase64 === 'function') return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function decompressed(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const HOLDERS = { 1: Int8Array, 2: Int16Array, 4: Int32Array };

// Bytes lie plane by plane, the lowest first; eight of them become a number with a fraction's room.
function joined(planes, at, length, width, delta) {
  let values;
  if (width === 8) values = wide(planes, at, length);
  else {
    values = new HOLDERS[width](length);
    const bytes = new Uint8Array(values.buffer); // the page's machines are little-endian, all of them
    for (let b = 0; b < width; b += 1) {
      const plane = at + b * length;
      for (let i = 0, to = b; i < length; i += 1, to += width) bytes[to] = planes[plane + i];
    }
  }
  if (!delta) return values;
  const sums = new Float64Array(length);
  for (let i = 0, sum = 0; i < length; i += 1) {
    sum += values[i];
    sums[i] = sum;
  }
  return sums;
}

function wide(planes, at, length) {
  const values = new Float64Array(length);
  for (let i = 0; i < length; i += 1) {
    let low = 0, high = 0;
    for (let b = 3; b >= 0; b -= 1) {
      low = low * 256 + planes[at + b * length + i];
      high = (high << 8) | planes[at + (b + 4) * length + i];
    }
    values[i] = high * 4294967296 + low;
  }
  return values;
}

async function readColumns(name) {
  const listed = JSON.parse(element(`${name}-columns`).textContent);
  const planes = await decompressed(fromBase64(element(`${name}-data`).textContent));
  const columns = {};
  let at = 0;
  for (const [key, length, width, delta] of listed) {
    columns[key] = joined(planes, at, length, width, delta);
    at += length * width;
  }
  return columns;
}
