/** Two processes send webhooks while one of them is killed in turn: nothing is lost or out of order. */

import { expect, test } from "bun:test";
import { client, createAgent, createPerson, WEBHOOK } from "../support/client.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { seeded } from "../support/random.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";
import {
  checkDelivered,
  checkPosted,
  type Made,
  makeChanges,
  sendMessages,
} from "../support/webhook-load.ts";

const ROUNDS = 3;

test(
  "when processes are killed in mid-send, 3 rounds, every webhook message and item arrives in order [§19.4.5] [§5.9.5(8)]",
  seeded("killed webhook senders", async (random) => {
    const receiver = startReceiver();
    const { url: DATABASE_URL } = await createTestStore();
    const env = { DATABASE_URL, OUTBOUND_PRIVATE: "127.0.0.0/8", LOG_LEVEL: "debug" };
    const pair = (await Promise.all([startProcess(env), startProcess(env)])) as RelayProcess[];
    const person = await createPerson(pair[0]!.url);
    const agent = await createAgent(pair[0]!.url, person);
    const hook = { ...WEBHOOK, url: receiver.url("/hook") };
    const { body } = await person.send("POST /v1/channels", hook);
    receiver.expect("/hook", body.secret);
    await until(() => receiver.got.length === 1);
    // The agent has its own webhook, for its inbox.
    const own = { url: receiver.url("/agent") };
    const { body: set } = await agent.send(`PUT /v1/keys/${agent.key.id}/webhook`, own);
    receiver.expect("/agent", set.secret);
    await until(() => receiver.got.some(({ path }) => path === "/agent"));
    const made: Made[] = [];
    const said: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const doomed = round % 2;
      // From one of the requests on, they have no response until the kill.
      const answered = Math.floor(random() * 4);
      const killed = gate();
      let asked = 0;
      receiver.behave(async () => {
        if (asked++ >= answered) await killed.opened;
        return 200;
      });
      const acts = pair.map(({ url }) => makeChanges(client(url, agent.secret), made));
      for (const { url } of pair) {
        acts.push(sendMessages(client(url, person.token), agent.key.id, said));
      }
      await until(() => receiver.open() > 0);
      pair[doomed]!.kill("SIGKILL");
      await pair[doomed]!.exited;
      killed.open();
      await Promise.all(acts);
      pair[doomed] = await startProcess(env);
    }
    // The leases of the killed processes expire; a minute takes 60 attempts.
    await until(() => checkDelivered(made, receiver.got).missing.length === 0);
    const inbox = async () => {
      const read = client(pair[0]!.url, person.token);
      return (await read(`GET /v1/keys/${agent.key.id}/inbox?limit=100`)).body;
    };
    await until(async () => (await inbox()).unread === 0);
    const order = (await inbox()).items.map(({ id }: { id: string }) => id).reverse();
    expect(said.length).toBeGreaterThan(ROUNDS);
    expect(checkPosted(said, order, receiver.got)).toEqual({ missing: [], disorder: [] });
    expect(made.length).toBeGreaterThan(ROUNDS * 3);
    expect(checkDelivered(made, receiver.got)).toEqual({ missing: [], disorder: [] });
    expect(receiver.faults).toEqual([]);
    const log = pair.map((relay) => relay.log()).join("");
    for (const secret of ["/hook", "/agent", body.secret.slice(6), set.secret.slice(6)])
      expect(log).not.toContain(secret);
  }),
  120_000,
);
