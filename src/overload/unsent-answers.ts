/** Bounds the large responses, such as lists, that their clients have not read yet (§11.3.1). */

import { ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { type CredentialHolder, callerId } from "../model/caller.ts";
import type { Metric } from "../observability/metrics.ts";

/** A body of a `Response`. */
export type AnswerBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

interface UnsentOptions {
  /** Closes the connection of a request once no byte has moved on it for `seconds`. */
  readonly closeIdle: (request: Request, seconds: number) => void;
  /** `unsent_idle_given_up`: seconds without a byte until the connection of an answer that was given up closes. */
  readonly limits?: Readonly<
    Record<Extract<keyof typeof LIMITS, `unsent_${string}`> | "unsent_idle_given_up", number>
  >;
}

/** One answer that is being sent. */
interface Answer {
  readonly request: Request;
  readonly credential: string;
  readonly account: string;
  /** Bytes that its client has not read yet. */
  bytes: number;
  /** True once it made room for others: its connection is about to close. */
  given_up: boolean;
}

/** The unread answers of one account, with all its keys and tokens. */
interface Holdings {
  bytes: number;
  /** Bytes of the answers that were not given up. */
  kept: number;
  /** The answers that were not given up, the longest unread first. */
  readonly answers: Set<Answer>;
}

export type Unsent = ReturnType<typeof createUnsentAnswers>;

/**
 * Bun buffers the part of an answer that a socket does not accept, and does not report it. It asks a stream for
 * more only once the socket accepted what came before, so large answers are sent as streams: their bytes count
 * until then, or until the connection ends. Small answers are not counted: Bun reads no further requests from a
 * connection whose answers are not read, so it holds at most one of them for each connection.
 *
 * Above the bound of the process, the account that holds the most gives up the answer that has been unread for
 * the longest. Bun frees its memory only with its connection, so its bytes still count for its credential and
 * its account.
 */
export function createUnsentAnswers({
  closeIdle,
  limits = { ...LIMITS, unsent_idle_given_up: 1 },
}: UnsentOptions) {
  /** Unread bytes by credential, and holdings by account, of those that have any. */
  const credentials = new Map<string, number>();
  const accounts = new Map<string, Holdings>();
  let total = 0;
  /** `total` without the answers that were given up. */
  let kept = 0;

  /** Visits each account that has something unread, but is rarely called. False when nothing can be given up. */
  const giveUpOne = (): boolean => {
    let heaviest: Holdings | undefined;
    for (const holdings of accounts.values()) {
      if (!heaviest || holdings.kept > heaviest.kept) heaviest = holdings;
    }
    const [oldest] = heaviest?.answers ?? [];
    if (!heaviest || !oldest) return false;
    oldest.given_up = true;
    heaviest.answers.delete(oldest);
    heaviest.kept -= oldest.bytes;
    kept -= oldest.bytes;
    // An error in its stream would reach the socket only after everything that waits, and would be printed.
    closeIdle(oldest.request, limits.unsent_idle_given_up);
    return true;
  };

  /** Sets the unread bytes of an answer. */
  const count = (answer: Answer, bytes: number): void => {
    const { credential, account, given_up } = answer;
    const more = bytes - answer.bytes;
    if (more === 0) return;
    answer.bytes = bytes;
    total += more;

    const of_credential = (credentials.get(credential) ?? 0) + more;
    if (of_credential > 0) credentials.set(credential, of_credential);
    else credentials.delete(credential);

    const holdings = accounts.get(account) ?? { bytes: 0, kept: 0, answers: new Set() };
    holdings.bytes += more;
    if (holdings.bytes > 0) accounts.set(account, holdings);
    else accounts.delete(account);

    if (given_up) return;
    holdings.kept += more;
    kept += more;
    if (bytes > 0) holdings.answers.add(answer);
    else holdings.answers.delete(answer);
    while (kept > limits.unsent_bytes && giveUpOne()) {}
  };

  /** Begins an answer to `caller`. Answers without a caller count together. */
  const begin = (request: Request, caller: CredentialHolder | null): Answer => ({
    request,
    credential: caller ? callerId(caller) : "",
    account: caller?.account_id ?? "",
    bytes: 0,
    given_up: false,
  });

  const metric: Metric = {
    name: "relay_unsent_answer_bytes",
    help: "Bytes of large answers that their readers have not taken yet.",
    type: "gauge",
    read: () => total,
  };

  return {
    metric,
    /** Unread bytes over all connections of this process. */
    bytes: (): number => total,
    /**
     * Throws `429 rate_limited` while the caller's credential or account has too many unread bytes, or the
     * process has and some of them are the credential's.
     */
    admit(caller: CredentialHolder | null): void {
      if (total === 0) return;
      const own = credentials.get(caller ? callerId(caller) : "") ?? 0;
      const of_account = accounts.get(caller?.account_id ?? "")?.bytes ?? 0;
      if (
        own >= limits.unsent_bytes_per_credential ||
        of_account >= limits.unsent_bytes_per_account ||
        (own > 0 && total >= limits.unsent_bytes)
      ) {
        throw new ServiceError("rate_limited", {
          detail: "Too many answers wait to be read. Read them, or close their connections.",
        });
      }
    },

    /** Makes a body of these bytes, which count for the caller while they are being sent. */
    body(
      request: Request,
      caller: CredentialHolder | null,
      bytes: Uint8Array<ArrayBuffer>,
    ): AnswerBody {
      if (request.method === "HEAD") return bytes;
      closeIdle(request, limits.unsent_idle);
      const answer = begin(request, caller);
      // Bun copies what the socket does not accept, so ours is not kept.
      let unsent: Uint8Array<ArrayBuffer> | null = bytes;
      return new ReadableStream<Uint8Array>(
        {
          // Called again once the socket has accepted the result of the first call.
          pull(controller) {
            if (!unsent) {
              count(answer, 0);
              controller.close();
              return;
            }
            count(answer, unsent.byteLength);
            controller.enqueue(unsent);
            unsent = null;
          },
          cancel: () => count(answer, 0),
        },
        { highWaterMark: 0 },
      );
    },

    /** Makes a body of a stream, each chunk of which counts while it is being sent. `onChunk` gets its bytes. */
    relay(
      request: Request,
      caller: CredentialHolder | null,
      source: ReadableStream<Uint8Array>,
      onChunk: (bytes: number) => void,
    ): ReadableStream<Uint8Array> {
      const reader = source.getReader();
      const answer = begin(request, caller);
      let ended = false;
      return new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            count(answer, 0);
            const { done, value } = await reader.read();
            if (ended) return;
            if (done) return controller.close();
            count(answer, value.byteLength);
            onChunk(value.byteLength);
            controller.enqueue(value);
          },
          cancel(reason) {
            ended = true;
            count(answer, 0);
            return reader.cancel(reason);
          },
        },
        { highWaterMark: 0 },
      );
    },
  };
}
