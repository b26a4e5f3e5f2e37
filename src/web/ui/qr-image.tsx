/** A QR code as an image; its encoder is loaded on demand. */

import { useLoaded } from "./use-loaded.ts";

/** `text`: what the code contains; `label`: its description for screen readers. */
export function QrImage({ text, label }: { text: string; label: string }) {
  const { value: code } = useLoaded(text, async () => (await import("./qr.ts")).qrCode(text));
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
