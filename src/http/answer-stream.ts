/** Signs of life while a call waits: its answer is then a stream of comments that ends with the answer (§6.7, §12.4.2). */

import type { Cancel, Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";

/** True if a client accepts an event stream. */
export const acceptsStream = ({ headers }: Request): boolean =>
  headers.get("accept")?.includes("text/event-stream") === true;

/** True once an answer takes so long that its client should get a sign of life; false if it came before that. */
export async function lasts(answer: Promise<unknown>, clock: Clock): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(LIMITS.sign_of_life, () => resolve(true));
  const came = () => resolve(false);
  answer.then(came, came);
  return promise.finally(cancel);
}

/** One server-sent event. `data`: JSON in one line. */
export const frame = (event: string, data: unknown): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

const encoder = new TextEncoder();
const SIGN = encoder.encode(": ping\n\n");

interface AnswerStream {
  /** The last frames; an empty text ends the stream without one. Never rejects. */
  readonly answer: Promise<string>;
  readonly clock: Clock;
}

/** Makes a stream that begins with a sign of life, gives more of them, and ends with an answer. */
export function answerStream({ answer, clock }: AnswerStream): ReadableStream<Uint8Array> {
  let cancel_sign: Cancel = () => {};
  let open = true;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const give = () => {
        controller.enqueue(SIGN);
        cancel_sign = clock.after(LIMITS.sign_of_life, give);
      };
      give();
      void answer.then((frames) => {
        cancel_sign();
        if (!open) return;
        open = false;
        if (frames) controller.enqueue(encoder.encode(frames));
        controller.close();
      });
    },
    cancel() {
      open = false;
      cancel_sign();
    },
  });
}
