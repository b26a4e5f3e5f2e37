/** A service on a test clock, and people with an agent and an ntfy topic each. */

import { expect } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "./app.ts";
import { createAgent, createPerson } from "./client.ts";
import { createTestClock } from "./clock.ts";
import { startNtfy } from "./ntfy.ts";
import { createTestStore } from "./store.ts";

export const NTFY_ENV = { PUBLIC_URL: "https://relay.example/" };

export async function startNtfyWorld() {
  const clock = createTestClock();
  const { url: database_url } = await createTestStore();
  const app = await startTestApp({ clock, database_url, jitter: () => 0.999, env: NTFY_ENV });
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const ntfy = await startNtfy();
  let topics = 0;
  return {
    clock,
    app,
    ntfy,
    rows: (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({})),
    change: (text: string) => store.write([statement(sql.raw(text))({})]),
    settled: () => app.sender.settled(),

    async begin(body: object = {}, server = ntfy.url) {
      const person = await createPerson(app.local_url);
      const agent = await createAgent(app.local_url, person, "builder");
      const topic = `topic-${++topics}`;
      const given = { type: "ntfy", label: "Phone", url: `${server}/${topic}`, ...body };
      const { status, body: made } = await person.send("POST /v1/channels", given);
      expect(status).toBe(201);
      const { id } = made.channel;
      const read = async () => (await person.send("GET /v1/channels")).body.channels[0];
      ntfy.take();
      return { person, agent, topic, id, made, read };
    },

    /** Moves time in steps, each until nothing is being sent. */
    async advance(seconds: number, step = 1) {
      for (let left = seconds; left > 0; left -= step) {
        await app.sender.settled();
        await clock.advance(Math.min(step, left));
        await app.sender.settled();
        await app.jobs.settled();
      }
    },
  };
}
