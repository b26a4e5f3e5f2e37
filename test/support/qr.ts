/** Reads QR codes like a camera: from a picture of a page, and from a terminal's output. */

import jsQR from "jsqr";
import { PNG } from "pngjs";

/** The text of the QR code in a PNG, such as a screenshot; null if there is none. */
export function readQr(png: Buffer): string | null {
  const { data, width, height } = PNG.sync.read(png);
  return jsQR(new Uint8ClampedArray(data), width, height)?.data ?? null;
}

/** For each half block in a terminal: whether its upper and lower modules are dark. */
const BLOCKS: Record<string, readonly [boolean, boolean]> = {
  "█": [false, false],
  "▀": [false, true],
  "▄": [true, false],
  " ": [true, true],
};

/** Around each row of a QR code in a terminal: light on dark. */
const [START, END] = ["\u001b[38;5;231;48;5;16m", "\u001b[0m"];

/** The dark modules of the QR code in a terminal's output; empty if there is none. */
export function modulesIn(shown: string): boolean[][] {
  return shown.split(/\r?\n/).flatMap((line) => {
    if (!line.startsWith(START) || !line.endsWith(END)) return [];
    const blocks = [...line.slice(START.length, -END.length)].map((block) => BLOCKS[block]!);
    return [blocks.map(([upper]) => upper), blocks.map(([, lower]) => lower)];
  });
}

/** The text of the QR code in a terminal's output; null if there is none or it cannot be read. */
export function readTerminalQr(shown: string): string | null {
  const modules = modulesIn(shown);
  const [width, height] = [(modules[0]?.length ?? 0) * SCALE, modules.length * SCALE];
  if (width === 0) return null;
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (modules[Math.floor(y / SCALE)]![Math.floor(x / SCALE)])
        pixels.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
  return jsQR(pixels, width, height)?.data ?? null;
}

/** Pixels of a module's side. */
const SCALE = 4;
