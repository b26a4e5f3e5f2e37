/** Webhooks without a server: how a message is signed, and whose is sent next (§19.4). */

import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { chooseMessages } from "../../src/notify/webhooks/choose.ts";
import { webhookRequest } from "../../src/notify/webhooks/request.ts";

test("the package of Standard Webhooks verifies a message and rejects any other text [§19.4.2]", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const message = { id: "msg_1", type: "task.created", created_at: 1, data: '{"é":"…"}' };
  const target = { url: "https://example.com/", secret };
  const { body, headers } = webhookRequest(message, target, Date.now() / 1000);
  const hook = new Webhook(secret);
  const parsed = { type: "task.created", timestamp: "1970-01-01T00:00:01.000Z", data: { é: "…" } };
  expect(hook.verify(body as string, { ...headers })).toEqual(parsed);
  expect(() => hook.verify(`${body} `, { ...headers })).toThrow();
  const late = webhookRequest(message, target, Date.now() / 1000 - 400);
  expect(() => hook.verify(late.body as string, { ...late.headers })).toThrow();
});

test("accounts take turns, so that one with much to send does not delay another [§19.4.6]", () => {
  const due = (account_id: string, n: number, host = `${account_id}.example`) =>
    Array.from({ length: n }, (_, i) => ({
      seq: i,
      channel_id: `${account_id}-${i % 3}`,
      account_id,
      host: `${i % 5}.${host}`,
      failing: false,
      left: 60,
    }));
  const at_hosts = { ofHost: () => 4, heldBy: () => 0, failingAt: () => 0 };
  const room = { total: 6, failing: 32, underWay: () => 0, ...at_hosts };
  const chosen = chooseMessages([...due("a", 50), ...due("b", 2), ...due("c", 1)], room);
  expect(chosen.map(({ account_id }) => account_id).join("")).toBe("abcaba");
  const busy = { ...room, underWay: (account: string) => (account === "a" ? 7 : 0) };
  const least = chooseMessages([...due("a", 50), ...due("b", 2)], busy);
  expect(least.map(({ account_id }) => account_id).join("")).toBe("abb");
  const failing = due("a", 9).map((one) => ({ ...one, failing: true }));
  expect(chooseMessages(failing, { ...room, failing: 2 }).length).toBe(2);
  expect(chooseMessages(due("a", 9, "x"), { ...room, ofHost: () => 1 }).length).toBe(5);
  expect(
    chooseMessages(
      due("a", 9).map((one) => ({ ...one, left: 1 })),
      room,
    ).length,
  ).toBe(3);
});

test("an account leaves a connection to each host to others, and failing webhooks leave another [§19.4.6]", () => {
  const due = (account_id: string, failing: boolean) =>
    Array.from({ length: 5 }, (_, i) => ({
      seq: i,
      channel_id: `${account_id}-${i}`,
      account_id,
      host: "shared.example",
      failing,
      left: 60,
    }));
  const at_host = { ofHost: () => 4, heldBy: () => 0, failingAt: () => 0 };
  const room = { total: 64, failing: 32, underWay: () => 0, ...at_host };
  const chosenOf = (messages: ReturnType<typeof due>, more = {}) =>
    chooseMessages(messages, { ...room, ...more })
      .map(({ account_id }) => account_id)
      .join("");
  expect(chosenOf(due("a", false))).toBe("aaa");
  expect(chosenOf([...due("a", false), ...due("b", false)])).toBe("aba");
  expect(chosenOf(due("a", true))).toBe("aa");
  expect(chosenOf([...due("a", true), ...due("b", true), ...due("c", true)])).toBe("abc");
  // Counting what is already being sent.
  const held = {
    ofHost: () => 1,
    heldBy: (_: string, account: string) => (account === "a" ? 3 : 0),
  };
  expect(chosenOf([...due("a", false), ...due("b", false)], held)).toBe("b");
  const failing = {
    ofHost: () => 2,
    failingAt: (_: string, of: string | null) => (of === "b" ? 0 : 2),
  };
  expect(chosenOf([...due("a", true), ...due("b", true)], failing)).toBe("b");
});
