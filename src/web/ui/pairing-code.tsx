/** A pairing code to scan or to type, until it expires. */

import type { ReactNode } from "react";
import type { Pairing } from "../state/api.ts";
import { Button } from "./button.tsx";
import { QrImage } from "./qr-image.tsx";
import { timeLeft } from "./time.ts";
import { useNow } from "./use-now.ts";

interface PairingCodeProps {
  readonly pairing: Pairing;
  /** Makes another code, once this one has expired. */
  readonly onAgain: () => void;
  readonly children?: ReactNode;
}

export function PairingCode({ pairing, onAgain, children }: PairingCodeProps) {
  const { code, url, no_url_reason, expires_at } = pairing;
  const seconds = expires_at - useNow();
  if (seconds <= 0) {
    return (
      <div className="space-y-4">
        <p role="status">This code has expired.</p>
        <Button variant="primary" onClick={onAgain}>
          New code
        </Button>
      </div>
    );
  }
  return (
    <div className="space-y-5">
      {url !== null && (
        <div className="space-y-3">
          <p>Scan this with the phone's or tablet's camera:</p>
          <QrImage text={url} label="QR code that adds a device" />
        </div>
      )}
      <div className="space-y-2">
        <p className="said">
          {url === null ? (
            "Open this server's address in the other browser, and enter this code:"
          ) : (
            <>
              Or open <b className="font-medium">{url.replace(/\/#\/.*$/, "")}</b> in the other
              browser, and enter this code:
            </>
          )}
        </p>
        <p translate="no" className="select-all font-mono font-semibold text-3xl tracking-widest">
          {code}
        </p>
      </div>
      {no_url_reason !== null && (
        <p className="rounded-xl bg-sunken px-4 py-3 text-soft">
          There's no QR code, because other devices may not reach this server. {no_url_reason}
        </p>
      )}
      <p className="text-faint text-sm tabular-nums">Works once. Expires in {timeLeft(seconds)}.</p>
      {children}
    </div>
  );
}
