// Makes a picture of a page small: a PNG with at most 256 colours, a third of what the browser writes. Pages have few
// colours; those that there is no room for, at the edges of letters, become the nearest that there is.
import { crc32, deflateSync, inflateSync } from "node:zlib";

export function withPalette(png) {
  const { width, height, pixels } = read(png);
  const seen = new Map();
  for (const pixel of pixels) seen.set(pixel, (seen.get(pixel) ?? 0) + 1);
  const palette = [...seen].sort(([, a], [, b]) => b - a).slice(0, 256).map(([colour]) => colour);
  const places = new Map([...seen.keys()].map((colour) => [colour, nearest(palette, colour)]));

  const rows = Buffer.alloc(height * (width + 1));
  pixels.forEach((pixel, i) => (rows[i + Math.floor(i / width) + 1] = places.get(pixel)));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8);
  return Buffer.concat([
    png.subarray(0, 8),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap(channels))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const channels = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(palette, colour) {
  const [r, g, b] = channels(colour);
  const distances = palette.map(channels).map(([x, y, z]) => (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2);
  return distances.indexOf(Math.min(...distances));
}

// The pixels of a PNG with 8 bits for each channel and no gaps between rows, as the browser writes them; PNG §7 to §9.
function read(png) {
  let head;
  const data = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (name === "IHDR") head = body;
    if (name === "IDAT") data.push(body);
    at += 12 + length;
  }
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const step = { 2: 3, 6: 4 }[head[9]];
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * step;
  const pixels = [];
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    const row = Buffer.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    for (let x = 0; x < stride; x++) {
      const left = x < step ? 0 : row[x - step];
      const corner = x < step ? 0 : above[x - step];
      row[x] += [0, left, above[x], (left + above[x]) >> 1, paeth(left, above[x], corner)][filter];
    }
    for (let x = 0; x < stride; x += step) pixels.push((row[x] << 16) | (row[x + 1] << 8) | row[x + 2]);
    above = row;
  }
  return { width, height, pixels };
}

function paeth(a, b, c) {
  const [p, q, r] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  if (p <= q && p <= r) return a;
  return q <= r ? b : c;
}

function chunk(name, body) {
  const whole = Buffer.alloc(12 + body.length);
  whole.writeUInt32BE(body.length, 0);
  whole.write(name, 4, "latin1");
  body.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, -4)), 8 + body.length);
  return whole;
}
