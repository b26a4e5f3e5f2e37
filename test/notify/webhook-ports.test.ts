/** Receivers on two ports of one host (docs/interface.md 19.4.6). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

const app = await startTestApp();

test("a receiver that hangs does not delay another port of its host [§19.4.6]", async () => {
  const hanging = startReceiver();
  const slow = gate();
  hanging.behave(async () => {
    await slow.opened;
    return 200;
  });
  const create = async (url: string) => {
    const { send } = await createPerson(app.url);
    expect((await send("POST /v1/channels", { type: "webhook", label: "CI", url })).status).toBe(
      201,
    );
  };
  for (let i = 0; i < 6; i++) await create(hanging.url(`/hang-${i}`));
  await until(() => hanging.open() === 4);
  const quick = startReceiver();
  await create(quick.url("/quick"));
  await until(() => quick.got.length === 1);
  expect(hanging.mostOfHost()).toBe(4);
  slow.open();
  await app.webhooks.settled();
});
