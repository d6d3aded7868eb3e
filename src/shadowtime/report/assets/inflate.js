// A small reader of deflate streams (RFC 1951), for browsers without DecompressionStream.
const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83,
  99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5,
  5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769,
  1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11,
  11, 12, 12, 13, 13];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

// Codes of each length and the symbols in code order: all that a canonical code needs.
function huffman(lengths) {
  const count = new Uint16Array(16);
  for (const length of lengths) count[length] += 1;
  count[0] = 0;
  const offset = new Uint16Array(16);
  for (let i = 1; i < 16; i += 1) offset[i] = offset[i - 1] + count[i - 1];
  const symbol = new Uint16Array(lengths.length);
  lengths.forEach((length, value) => {
    if (length) symbol[offset[length]++] = value;
  });
  return { count, symbol };
}

function inflate(bytes, size) {
  const out = new Uint8Array(size);
  let at = 0, bit = 0, buffer = 0, end = 0;
  const bits = (need) => {
    while (bit < need) { buffer |= bytes[at++] << bit; bit += 8; }
    const value = buffer & ((1 << need) - 1);
    buffer >>>= need;
    bit -= need;
    return value;
  };
  const next = (code) => {
    let value = 0, first = 0, index = 0;
    for (let length = 1; length < 16; length += 1) {
      value |= bits(1);
      const count = code.count[length];
      if (value - count < first) return code.symbol[index + value - first];
      index += count;
      first = (first + count) << 1;
      value <<= 1;
    }
    throw new Error('the data of this report is damaged');
  };
  const block = (literals, distances) => {
    for (;;) {
      const symbol = next(literals);
      if (symbol === 256) return;
      if (symbol < 256) { out[end++] = symbol; continue; }
      const length = LENGTH_BASE[symbol - 257] + bits(LENGTH_EXTRA[symbol - 257]);
      const code = next(distances);
      const from = end - DISTANCE_BASE[code] - bits(DISTANCE_EXTRA[code]);
      for (let i = 0; i < length; i += 1) out[end++] = out[from + i];
    }
  };
  const dynamic = () => {
    const literals = bits(5) + 257, distances = bits(5) + 1, codes = bits(4) + 4;
    const order = new Array(19).fill(0);
    for (let i = 0; i < codes; i += 1) order[CODE_ORDER[i]] = bits(3);
    const code = huffman(order);
    const lengths = [];
    while (lengths.length < literals + distances) {
      const symbol = next(code);
      if (symbol < 16) { lengths.push(symbol); continue; }
      const value = symbol === 16 ? lengths[lengths.length - 1] : 0;
      const repeat = symbol === 16 ? 3 + bits(2) : symbol === 17 ? 3 + bits(3) : 11 + bits(7);
      for (let i = 0; i < repeat; i += 1) lengths.push(value);
    }
    block(huffman(lengths.slice(0, literals)), huffman(lengths.slice(literals)));
  };
  const fixed = () => {
    const lengths = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
    block(huffman(lengths), huffman(new Array(30).fill(5)));
  };
  const stored = () => {
    at -= bit >> 3; // whole bytes that were read ahead
    buffer = 0;
    bit = 0;
    const length = bytes[at] | (bytes[at + 1] << 8);
    out.set(bytes.subarray(at + 4, at + 4 + length), end);
    at += 4 + length;
    end += length;
  };
  for (let last = 0; !last;) {
    last = bits(1);
    [stored, fixed, dynamic][bits(2)]();
  }
  return out;
}
