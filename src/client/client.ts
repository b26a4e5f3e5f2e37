/**
 * A typed client of the REST interface for Bun, Node and browsers: one method for each route of
 * docs/interface.md 5.1, long waits, repetition of lost requests, and the event stream. Every method
 * rejects with `RelayError`, or with the reason of an aborted signal.
 */

import type { StreamEvent } from "../model/event.ts";
import { accountRoutes } from "./account-routes.ts";
import { followEvents } from "./events.ts";
import { createIdempotencyKey } from "./idempotency.ts";
import { retry } from "./retry.ts";
import {
  type CallOptions,
  type ClientOptions,
  connectionOf,
  createSend,
  type IdempotentOptions,
} from "./send.ts";
import type { Health } from "./types.ts";
import { workRoutes } from "./work-routes.ts";

/** Seconds in which a request is repeated. */
const REPEAT_WITHIN = 60;

interface RepeatOptions extends CallOptions {
  /** Seconds after which no further attempt begins; 60 when absent. */
  readonly within?: number;
}

/** See {@link createClient}. */
export type Client = ReturnType<typeof createClient>;

/** A client of one server with one credential. It holds no connection and needs no closing. */
export function createClient(options: ClientOptions) {
  const connection = connectionOf(options);
  const send = createSend(connection);
  const { timers } = connection;
  return {
    ...accountRoutes(send),
    ...workRoutes(send, timers),

    /** The state of the service; resolves also while it is `unavailable` (docs/interface.md §5.12.1). */
    health: (given?: CallOptions) => send<Health>("GET", "/health", { also: 503 }, given),

    /** The OpenAPI 3.1 document (docs/interface.md §5.12.2). */
    openapi: (given?: CallOptions) => send<object>("GET", "/v1/openapi.json", {}, given),

    /**
     * The account's events, for as long as it exists: see `followEvents`. To end it, leave the loop or
     * abort `signal`.
     */
    events: (given: CallOptions = {}): AsyncGenerator<StreamEvent, void> =>
      followEvents(connection, given),

    /**
     * Runs a call that accepts an `Idempotency-Key` until the server has answered it, under one key, so
     * that a lost response does not make it happen twice (docs/interface.md §8.3):
     * `client.once((given) => client.tasks.create({ title }, given))`.
     */
    once<Result>(
      call: (given: IdempotentOptions) => Promise<Result>,
      { within = REPEAT_WITHIN, signal }: RepeatOptions = {},
    ): Promise<Result> {
      const given = { idempotency_key: createIdempotencyKey(), ...(signal && { signal }) };
      return retry(timers, { within, signal }, () => call(given));
    },
  };
}
