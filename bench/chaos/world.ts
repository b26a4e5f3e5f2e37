/** What every client of a run of chaos has: the processes, the model, and a way to send through any weather. */

import { type Answer, client } from "../../test/support/client.ts";
import type { Random } from "../../test/support/random.ts";
import type { Fate, Model } from "./model.ts";
import type { Servers, Slot } from "./servers.ts";
import type { StandIns } from "./stand-ins.ts";

/** Seconds that a client waits for a response, beyond a wait that it asked for; the server takes at most 5. */
const RESPONSE = 10;
/** Seconds in which every request is answered once it is calm. */
const CALM = 60;

interface Request {
  /** What the history and a contradiction name. */
  readonly entity: string;
  readonly credential: string;
  readonly line: `${string} /${string}`;
  readonly body?: unknown;
  /** Statuses that acknowledge it, and those that a rule of the interface permits instead. */
  readonly ok: readonly number[];
  readonly refused?: readonly number[];
  /** Repeats under this key; without one, only a request that may be repeated is. */
  readonly key?: string;
  /** False: it would be done twice, so it is sent once. */
  readonly repeat?: boolean;
  /** The first of the processes to try; a random one when absent. */
  readonly slot?: Slot;
  /** Seconds that it waits at the server. */
  readonly wait?: number;
  /** False: never given up before it has an answer. */
  readonly may_give_up?: boolean;
}

export type World = ReturnType<typeof createWorld>;

interface WorldOptions {
  readonly servers: Servers;
  readonly services: StandIns;
  readonly model: Model;
  readonly random: Random;
}

export function createWorld({ servers, services, model, random }: WorldOptions) {
  const { slots } = servers;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  let calm_since = Number.POSITIVE_INFINITY;

  /** Sends one request; null without a response. */
  const attempt = (slot: Slot, given: Request): Promise<Answer | null> => {
    const signal = AbortSignal.timeout((RESPONSE + (given.wait ?? 0)) * 1000);
    const headers: Record<string, string> = {};
    if (given.key) headers["idempotency-key"] = given.key;
    // A connection of its own now and then, so that new ones are made in every weather.
    if (random() < 0.3) headers.connection = "close";
    const send = client(slot.link.url, given.credential);
    return send(given.line, given.body, { headers, signal }).catch(() => null);
  };

  return {
    servers,
    services,
    model,
    random,
    pick,
    /** True: clients begin nothing new. */
    stopping: false,
    /** No fault comes any more. */
    beCalm(): void {
      calm_since = performance.now();
    },
    anySlot: (): Slot => pick(slots),
    pause: (most: number) => Bun.sleep(random() * most),

    /**
     * Sends until there is an answer that decides it, or gives up after a lost one now and then: then nobody knows what
     * became of it. Notes everything in the history of the entity.
     */
    async request(sent: { fate: Fate; tries: number }, given: Request): Promise<Answer | null> {
      const { entity, line, ok, refused = [], repeat = true, may_give_up = true } = given;
      const started = performance.now();
      let slot = given.slot ?? pick(slots);
      const settle = (fate: Fate) => model.settle(sent, fate);
      for (;;) {
        model.note(entity, `${line} to ${slot.index} ${JSON.stringify(given.body ?? null)}`);
        const answer = await attempt(slot, given);
        const status = answer?.status ?? 0;
        model.note(entity, `${line}: ${answer ? status : "no response"}`);
        if (status !== 429) sent.tries++;
        if (ok.includes(status)) {
          settle("acknowledged");
          return answer;
        }
        if (refused.includes(status)) {
          settle("refused");
          return answer;
        }
        if (answer && status !== 503 && status !== 429) {
          model.contradict(entity, `${line} got ${status}: ${JSON.stringify(answer.body)}`);
          settle("refused");
          return answer;
        }
        if (status !== 429 && (!repeat || (may_give_up && random() < 0.15))) {
          settle("unknown");
          return null;
        }
        if (performance.now() - Math.max(started, calm_since) > CALM * 1000) {
          model.contradict(entity, `${line} had no answer in ${CALM} calm seconds`);
          settle("unknown");
          return null;
        }
        await Bun.sleep(50 + random() * 200);
        slot = pick(slots);
      }
    },
  };
}
