/**
 * A typed client of the REST interface for Bun, Node and browsers: a method for each procedure, long waits,
 * repetition of lost requests, and the event stream. Every method rejects with `RelayError`, or with the reason of
 * an aborted signal.
 */

import type { StreamEvent } from "../model/event.ts";
import { followEvents } from "./events.ts";
import { createIdempotencyKey } from "./idempotency.ts";
import { methodsOf, type Outputs } from "./methods.ts";
import { retry } from "./retry.ts";
import {
  type CallOptions,
  type ClientOptions,
  connectionOf,
  createSend,
  type IdempotentOptions,
} from "./send.ts";
import { pause } from "./timers.ts";

/** Seconds in which a request is repeated. */
const REPEAT_WITHIN = 60;
/** Longest life of a question, in seconds: `expires_in_max` (§10.4). */
const DAY = 86_400;
/** Seconds that one request waits: `wait_max` (§10.4). */
const WAIT = 50;
/** Seconds that pass at least between two requests of one wait. */
const WAIT_AGAIN_AFTER = 1;

/** `GET /health` (§5.12.1). */
export interface Health {
  /** `ok` or `unavailable`. */
  readonly status: string;
  readonly version: string;
  readonly store: string;
  /** What the operator should know: `other_store`, `clock_differs`; absent if there is nothing. Codes may be added. */
  readonly problems?: readonly string[];
}

type Question = Outputs["questions"]["get"];

interface WithinOptions extends CallOptions {
  /** Seconds in all, over as many requests as that takes; when absent, 86,400 for a wait and 60 for `once`. */
  readonly within?: number;
}

/** See {@link createClient}. */
export type Client = ReturnType<typeof createClient>;

/** A client of one server with one credential. It holds no connection and needs no closing. */
export function createClient(options: ClientOptions) {
  const connection = connectionOf(options);
  const send = createSend(connection);
  const { timers } = connection;
  const methods = methodsOf(send);
  const { ask, get } = methods.questions;
  const { read } = methods.inbox;

  /**
   * Repeats a waiting request, also after failures that may pass, until its result is `done` or `within` seconds have
   * passed. Returns the last result.
   */
  const wait = async <Result>(
    { within = DAY, signal }: WithinOptions,
    request: (wait: number) => Promise<Result>,
    done: (result: Result) => boolean,
  ): Promise<Result> => {
    const end = timers.elapsed() + within;
    for (;;) {
      const begun = timers.elapsed();
      const seconds = Math.max(0, Math.min(WAIT, Math.floor(end - begun)));
      const result = await retry(timers, { within: end - begun, signal }, () => request(seconds));
      if (done(result) || seconds === 0) return result;
      // A server that stops ends its waits at once (§6.4): do not ask the next one in a tight loop.
      const again_at = Math.min(begun + WAIT_AGAIN_AFTER, end);
      await pause(timers, again_at - timers.elapsed(), signal);
    }
  };

  const waitForAnswer = (id: string, options: WithinOptions = {}): Promise<Question> =>
    wait(
      options,
      (wait) => get(id, { wait }, { signal: options.signal }),
      ({ status }) => status !== "pending",
    );

  return {
    ...methods,

    questions: {
      ...methods.questions,

      /**
       * Resolves to the question once it has left `pending`, through lost connections and restarts of the server;
       * still pending if `within` has passed (§6.2).
       */
      waitForAnswer,

      /**
       * Asks once, whatever happens to the connection, and waits for the answer: `ask` under one
       * `Idempotency-Key`, then `waitForAnswer`.
       */
      async askAndWait(
        input: Omit<Parameters<typeof ask>[0], "wait">,
        { within = DAY, signal }: WithinOptions = {},
      ): Promise<Question> {
        const begun = timers.elapsed();
        const given = { idempotency_key: createIdempotencyKey(), signal };
        const question = await retry(timers, { within, signal }, () => ask(input, given));
        const left = within - (timers.elapsed() - begun);
        return waitForAnswer(question.id, { within: left, signal });
      },
    },

    inbox: {
      ...methods.inbox,

      /**
       * Resolves to the unread items once there are any, through lost connections; to none if `within` has passed.
       * Use `peek` and `ack` to get every item at least once (§5.9.2(5)).
       */
      waitForItems: (
        query: Omit<NonNullable<Parameters<typeof read>[0]>, "wait"> = {},
        options: WithinOptions = {},
      ) =>
        wait(
          options,
          (wait) => read({ ...query, wait }, { signal: options.signal }),
          ({ items }) => items.length > 0,
        ),
    },

    /** The state of the service; resolves also while it is `unavailable` (§5.12.1). */
    health: (given?: CallOptions) => send<Health>("GET", "/health", { also: 503 }, given),

    /** The OpenAPI 3.1 document (§5.12.2). */
    openapi: (given?: CallOptions) => send<object>("GET", "/v1/openapi.json", {}, given),

    /**
     * The account's events, for as long as it exists: see `followEvents`. To end it, leave the loop or
     * abort `signal`.
     */
    events: (given: CallOptions = {}): AsyncGenerator<StreamEvent, void> =>
      followEvents(connection, given),

    /**
     * Repeats a call that accepts an `Idempotency-Key` until the server has answered it, under one key, so that a
     * lost response does not make it happen twice (§8.3):
     * `client.once((given) => client.tasks.create({ title }, given))`.
     */
    once<Result>(
      call: (given: IdempotentOptions) => Promise<Result>,
      { within = REPEAT_WITHIN, signal }: WithinOptions = {},
    ): Promise<Result> {
      const given = { idempotency_key: createIdempotencyKey(), signal };
      return retry(timers, { within, signal }, () => call(given));
    },
  };
}
