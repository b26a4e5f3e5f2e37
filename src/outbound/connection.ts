/** Opens connections to other machines, and cuts off a peer that sends more than is expected of it (§11.6.6). */

import { connect, isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import type { Clock } from "../clock.ts";
import { bareName } from "../loopback.ts";
import { OutboundError } from "./guard.ts";

/** Bytes of a TLS handshake, most of them certificates. */
const HANDSHAKE = 131_072;
/** Bytes that are parsed before they are counted again: a parser does not stop at the end of its connection. */
const PIECE = 16_384;
/** Seconds between two counts of bytes that never become data, such as those of TLS itself. */
const COUNT_EVERY = 1;

/** Bytes that a peer may send at once, and in each further second. Everything counts, but a TLS handshake. */
export interface PeerBytes {
  readonly at_once: number;
  readonly per_second: number;
}

interface Peer {
  /** IP address. */
  readonly address: string;
  readonly port: number;
  readonly expects: PeerBytes;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
}

/** How to set up TLS. */
interface PeerTls {
  /** Name that the certificate must be valid for, or an IP address. */
  readonly host: string;
  /** PEM of the authorities to trust instead of the system's; undefined for the system's. */
  readonly ca: string | undefined;
}

export interface Connection {
  /**
   * What is read and written: the connection itself, or the last TLS over it. It emits an {@link OutboundError} of the
   * fault `answer_too_large` when the peer is cut off.
   */
  readonly socket: Duplex;
  /** Begins to set up TLS over {@link socket}, and returns it. */
  secure(how: PeerTls): Duplex;
}

/**
 * Begins to connect. What arrives is counted before anything parses it, since a parser takes any number of 1xx responses
 * and of chunks in one turn of the event loop.
 */
export function openConnection({ address, port, expects, timers }: Peer): Connection {
  const wire = connect({ host: address, port });
  let { at_once: left, per_second } = expects;
  let most = left;
  let counted = 0;
  let counted_at = timers.elapsed();
  let top: Duplex = wire;

  /** False, and the end of the connection, if the peer has sent too much. */
  const admit = (): boolean => {
    const now = timers.elapsed();
    left = Math.min(most, left + (now - counted_at) * per_second) - (wire.bytesRead - counted);
    counted = wire.bytesRead;
    counted_at = now;
    if (left < 0) top.destroy(new OutboundError("answer_too_large"));
    return left >= 0;
  };

  const watch = (over: Duplex) => {
    top = over;
    // Whoever uses the connection hears of it by then.
    over.on("error", () => {});
    const push = over.push.bind(over);
    over.push = (data: Buffer | null) => {
      if (data === null) return push(null);
      let has_room = admit();
      for (let at = 0; at < data.length && !over.destroyed; at += PIECE) {
        has_room = push(data.subarray(at, at + PIECE));
      }
      return has_room;
    };
  };

  let cancel = () => {};
  const countLater = () => {
    cancel = timers.after(COUNT_EVERY, () => {
      if (admit()) countLater();
    });
  };

  watch(wire);
  countLater();
  wire.once("close", () => cancel());

  return {
    get socket() {
      return top;
    },
    secure({ host, ca }) {
      // Certificates and servers know names without the final dot (RFC 6066 3).
      const name = bareName(host);
      const secure = tls.connect({
        socket: top,
        host: name,
        ...(isIP(name) === 0 && { servername: name }),
        ...(ca !== undefined && { ca }),
      });
      left += HANDSHAKE;
      most += HANDSHAKE;
      watch(secure);
      // Some errors of TLS leave it open.
      secure.once("close", () => wire.destroy());
      return secure;
    },
  };
}
