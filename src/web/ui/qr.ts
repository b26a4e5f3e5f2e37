/** QR codes; loaded when the first one is asked for. */

import { encode } from "uqr";

export interface QrCode {
  /** Modules on each side, the quiet zone included. */
  readonly size: number;
  /** The dark modules, as the path of an SVG. */
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
