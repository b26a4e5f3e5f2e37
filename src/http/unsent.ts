/** Large answers on their way: counted until the socket took them, and bounded (decisions.md, Holding a crowd). */

import { ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Metric } from "../metrics.ts";

/** What a response may have as its body. */
export type AnswerBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

interface UnsentOptions {
  /** Closes the connection of a request once it has moved no byte for so many seconds. */
  readonly closeIdle: (request: Request, seconds: number) => void;
  readonly limits?: Readonly<
    Record<"unsent_bytes_per_credential" | "unsent_bytes" | "unsent_idle", number>
  >;
}

/** A count of bytes that is given back once, whatever ends first. */
interface Hold {
  add(bytes: number): void;
  release(): void;
}

export type Unsent = ReturnType<typeof createUnsent>;

/**
 * Bun keeps what a socket does not take of an answer, and says nothing of it. A body that is a stream
 * is asked for more only once the socket took what came before, so large answers are sent as streams:
 * from the moment they are handed over until then, or until the connection ends, their bytes count.
 * Small answers are not counted: Bun stops reading requests of a connection whose answers are not
 * taken, so it holds one of them for each connection at most.
 */
export function createUnsent({ closeIdle, limits = LIMITS }: UnsentOptions) {
  /** Bytes by credential; only those that have some. */
  const held = new Map<string, number>();
  let total = 0;

  const add = (owner: string, bytes: number): void => {
    const sum = (held.get(owner) ?? 0) + bytes;
    if (sum > 0) held.set(owner, sum);
    else held.delete(owner);
    total += bytes;
  };

  const hold = (owner: string): Hold => {
    let bytes = 0;
    return {
      add(more) {
        bytes += more;
        add(owner, more);
      },
      release() {
        add(owner, -bytes);
        bytes = 0;
      },
    };
  };

  const refusal = () =>
    new ServiceError("rate_limited", {
      detail: "Too many answers wait to be read. Read them, or close their connections.",
    });

  const metric: Metric = {
    name: "relay_unsent_answer_bytes",
    help: "Bytes of large answers that their readers have not taken yet.",
    type: "gauge",
    read: () => total,
  };

  return {
    metric,
    /** Bytes that wait to be read now, over all connections of this process. */
    bytes: (): number => total,

    /**
     * Throws `429 rate_limited` while the answers of the credential that nobody read are too many, and
     * while those of all credentials are and some are its own.
     */
    admit(owner: string): void {
      if (total === 0) return;
      const own = held.get(owner) ?? 0;
      if (own >= limits.unsent_bytes_per_credential || (own > 0 && total >= limits.unsent_bytes)) {
        throw refusal();
      }
    },

    /**
     * As {@link admit}, for a large answer that was made and may still be refused: when the process
     * has no room for more of them, nobody gets another one.
     */
    admitLarge(owner: string): void {
      const own = held.get(owner) ?? 0;
      if (own >= limits.unsent_bytes_per_credential || total >= limits.unsent_bytes) {
        throw refusal();
      }
    },

    /** A body of these bytes, counted for `owner` while it is being sent. */
    body(request: Request, owner: string, bytes: Uint8Array<ArrayBuffer>): AnswerBody {
      if (request.method === "HEAD") return bytes;
      closeIdle(request, limits.unsent_idle);
      const holding = hold(owner);
      let sent = false;
      return new ReadableStream<Uint8Array>(
        {
          // Called again once the socket took what the first call gave.
          pull(controller) {
            if (sent) {
              holding.release();
              controller.close();
              return;
            }
            sent = true;
            holding.add(bytes.byteLength);
            controller.enqueue(bytes);
          },
          cancel: holding.release,
        },
        { highWaterMark: 0 },
      );
    },

    /**
     * The same for a body that comes bit by bit: each is counted while it is being sent. `onChunk` is
     * told of its bytes.
     */
    relay(
      source: ReadableStream<Uint8Array>,
      owner: string,
      onChunk: (bytes: number) => void,
    ): ReadableStream<Uint8Array> {
      const reader = source.getReader();
      const holding = hold(owner);
      let ended = false;
      return new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            holding.release();
            const { done, value } = await reader.read();
            if (ended) return;
            if (done) return controller.close();
            holding.add(value.byteLength);
            onChunk(value.byteLength);
            controller.enqueue(value);
          },
          cancel(reason) {
            ended = true;
            holding.release();
            return reader.cancel(reason);
          },
        },
        { highWaterMark: 0 },
      );
    },
  };
}
