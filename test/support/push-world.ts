/** A Relay that pushes to a stand-in for Apple, on a test clock. */

import { afterAll } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { Cell } from "../../db/store/store.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import type { Channel } from "../../src/notify/core/channel.ts";
import { startTestApp } from "./app.ts";
import { type AppleOptions, startApple } from "./apple.ts";
import type { Received } from "./apple-checks.ts";
import { createAgent, createPerson, DEVICE, type Person } from "./client.ts";
import { createTestClock } from "./clock.ts";
import { createTestStore } from "./store.ts";

interface Options {
  readonly apple?: AppleOptions;
  readonly env?: Record<string, string>;
  /** Channels in addition to the real ones. */
  readonly channels?: readonly Channel[];
  /** Back-off uses this part of its spread; all of it when absent. */
  readonly jitter?: () => number;
}

/** The owner of each token, for {@link tell}. */
const owners = new Map<string, string>();

/** A push token that no other device has; its pushes are reported under this name. */
export function newToken(name = ""): string {
  const token = (owners.size + 1).toString(16).padStart(8, "0");
  owners.set(token, name);
  return token;
}

/** One push in a line: to whom, what kind, and what a person would see. */
function tell({ token, type, priority, payload }: Received): string {
  const { aps, relay } = payload;
  const name = owners.get(token) || token;
  if (type === "alert") {
    return `${name}: ${aps["interruption-level"]} ${aps.alert.title} / ${aps.alert.body}`;
  }
  if (type === "widgets") return `${name}: widget`;
  if (type === "background") {
    return relay.clear ? `${name}: clear ${relay.clear.toSorted().join(" ")}` : `${name}: silent`;
  }
  const { status, progress, pending_questions } = aps["content-state"];
  const details = [status, progress ?? "-", pending_questions, `priority ${priority}`];
  return `${name}: ${aps.event} ${details.join(" ")}`;
}

export interface Phone {
  readonly id: string;
  readonly apns_token: string;
  readonly push_to_start_token: string;
  readonly widget_push_token: string;
}

export async function createPushWorld({
  apple: apple_options,
  env,
  channels = [],
  jitter = () => 1,
}: Options = {}) {
  const clock = createTestClock();
  const apple = await startApple({ now: clock.now, ...apple_options });
  const { url: database_url } = await createTestStore();
  const environment = { ...apple.env("SANDBOX"), ...env };
  const apps: Awaited<ReturnType<typeof startTestApp>>[] = [];
  const start = async (env: Record<string, string> = environment, own_clock: Clock = clock) => {
    const started = await startTestApp({ clock: own_clock, database_url, env, channels, jitter });
    apps.push(started);
    return started;
  };
  const app = await start();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  afterAll(() => store.close());

  /** Waits until no process runs a job or sends anything: what a job has queued is sent after it. */
  const settle = async () => {
    for (const one of apps) await one.jobs.settled();
    for (const one of apps) await one.sender.settled();
  };

  /** What was delivered since the last call, in order. */
  const take = async (): Promise<Received[]> => {
    await settle();
    return apple.delivered.splice(0);
  };

  const ofAccount = new Map<string, string>();

  /** Registers a device with all three tokens, unless `body` says otherwise. */
  const phone = async (person: Person, name: string, body: object = {}): Promise<Phone> => {
    const registered = {
      id: `dev_${crypto.randomUUID()}`,
      apns_token: newToken(name),
      push_to_start_token: newToken(name),
      widget_push_token: newToken(name),
      ...body,
    };
    const { id, ...fields } = registered;
    const { status } = await person.send(`PUT /v1/devices/${id}`, { ...DEVICE, ...fields });
    if (status !== 200) throw new Error("no device");
    for (const token of Object.values(registered)) ofAccount.set(token, person.account.id);
    return registered;
  };

  return {
    app,
    apple,
    clock,
    store,
    /** Another process on the same store, with the same configuration and clock unless told otherwise. */
    start,
    /** Resolves when nothing is being sent. */
    settle,

    /** Moves time in steps, each until nothing is being sent. */
    async advance(seconds: number, step = 0.5): Promise<void> {
      await settle();
      for (let left = seconds; left > 1e-9; left -= step) {
        // In long steps each timer fires once, since nobody waits for the polls between.
        await (step > 1 ? clock.skip(step) : clock.advance(Math.min(step, left)));
        await settle();
      }
    },

    /** Much time passes at once, as if the machine had slept. */
    async skip(seconds: number): Promise<void> {
      await settle();
      await clock.skip(seconds);
      await settle();
    },

    take,

    /** A person with phones of these names, and an agent; nothing is being sent. */
    async people(...names: string[]) {
      const person = await createPerson(app.url);
      const agent = await createAgent(app.url, person, "builder");
      const phones = [];
      for (const name of names) phones.push(await phone(person, name));
      return {
        person,
        agent,
        phones,
        /** What their phones were sent since the last call, in lines, sorted. */
        async told(): Promise<string[]> {
          await settle();
          const mine = (push: Received) => ofAccount.get(push.token) === person.account.id;
          const got = apple.delivered.filter(mine);
          const rest = apple.delivered.filter((push) => !mine(push));
          apple.delivered.splice(0, Number.POSITIVE_INFINITY, ...rest);
          return got.map(tell).sort();
        },
      };
    },

    phone,

    /** Rows of a query, where no route shows them. */
    rows: (text: string): Promise<Cell[][]> =>
      store.read(statement(sql.raw(text), { returns: "rows" })({})),

    /** Writes rows that no route would. */
    change: (text: string) => store.write([statement(sql.raw(text))({})]),
  };
}
