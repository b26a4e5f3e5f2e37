/** A QR code as an image; its encoder is loaded on demand. */

import { useEffect, useState } from "react";
import type { QrCode } from "./qr.ts";

/** `text`: what the code contains; `label`: its description for screen readers. */
export function QrImage({ text, label }: { text: string; label: string }) {
  const [code, setCode] = useState<QrCode | null>(null);
  useEffect(() => {
    let ended = false;
    void import("./qr.ts").then(({ qrCode }) => ended || setCode(qrCode(text)));
    return () => {
      ended = true;
    };
  }, [text]);
  // Reserves the size of the code, so that nothing moves.
  if (code === null) return <div className="size-56 rounded-xl bg-white" />;
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${code.size} ${code.size}`}
      className="size-56 rounded-xl bg-white p-1"
    >
      <path d={code.path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
