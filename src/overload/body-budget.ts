/** Bounds the request bodies that are being received, in bytes and number (§11.2.2). */

import type { Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";

/** One body that is being read. */
export interface Upload {
  /** Bytes that are counted for it. */
  bytes: number;
  /** True once it was read, given up or abandoned. */
  ended: boolean;
  readonly addressOf: () => string;
  readonly giveUp: (error: ServiceError) => void;
  /** All uploads of its address; null until it is counted. */
  peers: AddressUploads | null;
  /** When it is given up, by {@link Clock.elapsed}. */
  until: number;
}

/** The uploads of one address, the oldest first. */
interface AddressUploads {
  readonly address: string;
  readonly uploads: Set<Upload>;
  bytes: number;
}

interface BodyBudgetOptions {
  readonly clock: Pick<Clock, "after" | "elapsed">;
  readonly limits?: Readonly<
    Record<"bodies_bytes" | "bodies" | "bodies_per_address" | "body_seconds", number>
  >;
}

/**
 * Anybody can send half a body, which holds memory and a connection until it is answered. Above a bound, the
 * address that holds the most gives up its oldest upload (`429 rate_limited`), so that one address cannot push
 * out the others. A body that arrives together with its head is read in the same turn of the event loop and is
 * never counted.
 */
export function createBodyBudget({ clock, limits = LIMITS }: BodyBudgetOptions) {
  const addresses = new Map<string, AddressUploads>();
  /** All counted uploads, oldest first. */
  const uploads = new Set<Upload>();
  /** Uploads that began in this turn of the event loop. */
  let fresh: Upload[] = [];
  let bytes = 0;
  /** True if the timer runs. It is not cancelled when the last upload ends. */
  let armed = false;

  const leave = (upload: Upload): void => {
    upload.ended = true;
    const { peers } = upload;
    if (!peers?.uploads.delete(upload)) return;
    uploads.delete(upload);
    peers.bytes -= upload.bytes;
    bytes -= upload.bytes;
    if (peers.uploads.size === 0) addresses.delete(peers.address);
  };

  const giveUp = (upload: Upload, error: ServiceError): void => {
    leave(upload);
    upload.giveUp(error);
  };

  const giveUpOldest = ({ uploads: [oldest] }: AddressUploads): void => {
    giveUp(
      oldest!,
      new ServiceError("rate_limited", {
        detail: "Too many request bodies are being received, and this one has taken the longest.",
        close: true,
      }),
    );
  };

  const heaviest = (weightOf: (peers: AddressUploads) => number): AddressUploads =>
    addresses.values().reduce((most, peers) => (weightOf(peers) > weightOf(most) ? peers : most));

  const makeRoom = (): void => {
    while (bytes > limits.bodies_bytes) giveUpOldest(heaviest((peers) => peers.bytes));
    while (uploads.size > limits.bodies) giveUpOldest(heaviest((peers) => peers.uploads.size));
  };

  /** One timer serves all: the oldest upload is always due first. */
  const arm = (): void => {
    const [oldest] = uploads;
    armed = oldest !== undefined;
    if (!oldest) return;
    clock.after(oldest.until - clock.elapsed(), () => {
      const now = clock.elapsed();
      for (const upload of uploads) {
        if (upload.until > now) break;
        const detail = `The body did not arrive within ${limits.body_seconds} s.`;
        giveUp(upload, new ServiceError("invalid_json", { detail, close: true }));
      }
      arm();
    });
  };

  const count = (): void => {
    const began = fresh;
    fresh = [];
    const until = clock.elapsed() + limits.body_seconds;
    for (const upload of began) {
      if (upload.ended) continue;
      const address = upload.addressOf();
      const peers = addresses.get(address) ?? { address, uploads: new Set(), bytes: 0 };
      addresses.set(address, peers);
      peers.uploads.add(upload);
      peers.bytes += upload.bytes;
      uploads.add(upload);
      bytes += upload.bytes;
      upload.peers = peers;
      upload.until = until;
      if (peers.uploads.size > limits.bodies_per_address) giveUpOldest(peers);
    }
    makeRoom();
    if (!armed) arm();
  };

  return {
    /** Begins an upload. `held`: bytes that it may hold before any are counted. */
    enter(addressOf: Upload["addressOf"], held: number, giveUp: Upload["giveUp"]): Upload {
      const upload = { bytes: held, ended: false, addressOf, giveUp, peers: null, until: 0 };
      if (fresh.push(upload) === 1) setImmediate(count);
      return upload;
    },

    /** Counts more bytes for an upload that has not ended. */
    hold(upload: Upload, more: number): void {
      if (upload.ended) return;
      upload.bytes += more;
      if (!upload.peers) return;
      upload.peers.bytes += more;
      bytes += more;
      makeRoom();
    },

    leave,
  };
}
