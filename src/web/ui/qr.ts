/** Encodes QR codes. Loaded on demand. */

import { encode } from "uqr";

interface QrCode {
  /** Modules per side, including the quiet zone. */
  readonly size: number;
  /** The dark modules as an SVG path. */
  readonly path: string;
}

export function qrCode(text: string): QrCode {
  const { data, size } = encode(text, { border: 2 });
  let path = "";
  for (const [y, row] of data.entries()) {
    for (const [x, dark] of row.entries()) if (dark) path += `M${x} ${y}h1v1h-1z`;
  }
  return { size, path };
}
