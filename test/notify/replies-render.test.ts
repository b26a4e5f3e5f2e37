/** What a channel with replies is made as, and what its notifications offer (§19.8). */

import { expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { newQuestion } from "../../src/model/question.ts";
import { codeOf, readCode, subjectOfTest } from "../../src/notify/core/codes.ts";
import {
  composeEndedQuestion,
  composeQuestion,
  composeTest,
} from "../../src/notify/core/compose.ts";
import { codesOf } from "../../src/notify/core/prepare.ts";
import { ntfy } from "../../src/notify/ntfy/channel.ts";
import type { NtfyAddress, NtfyRequest } from "../../src/notify/ntfy/payload.ts";
import { type ReplyConnection, replyKey } from "../../src/notify/replies/source.ts";
import { createOutbound } from "../../src/outbound/guard.ts";
import { createSigner } from "../../src/signer.ts";

const signer = createSigner("sig_secret");
const random = (bytes: number) => new Uint8Array(bytes).fill(7);
const GIVEN = { url: null, token: null, subscription: null, buttons: null, replies: null };

function made(given: Partial<typeof GIVEN> & object = {}, env: Record<string, string> = {}) {
  const target = ntfy.register!({ ...GIVEN, ...given }, readConfig(env), { random });
  if ("fields" in target) return target;
  return { ...target, address: JSON.parse(target.address) as NtfyAddress };
}

test("without a topic Relay makes one, on the configured server, with replies where phones cannot reach Relay [§19.8.2]", () => {
  const name = "07".repeat(16);
  expect(made()).toEqual({
    address: {
      ...{ server: "https://ntfy.sh", topic: `relay-${name}`, token: null, buttons: false },
      replies: `relay-reply-${name}`,
    },
    url: `https://ntfy.sh/relay-${name}`,
    exclusive: false,
    is_made: true,
    sends: ["questions"],
  });
  const replies = (given: object, env: Record<string, string> = {}) => {
    const target = made(given, env);
    return "fields" in target ? target : target.address.replies !== undefined;
  };
  const own = { NTFY_SERVER: "https://ntfy.example" };
  expect(made({}, own)).toMatchObject({ url: `https://ntfy.example/relay-${name}` });
  expect(made({}, own)).not.toHaveProperty("sends");
  expect(replies({}, { PUBLIC_URL: "https://relay.example" })).toBe(false);
  expect(replies({ replies: true }, { PUBLIC_URL: "https://relay.example" })).toBe(true);
  expect(replies({}, { PUBLIC_URL: "http://localhost:3000" })).toBe(true);
  expect(replies({ replies: false })).toBe(false);
  expect(replies({ url: "https://ntfy.example" })).toBe(true);
  // A topic that a person chose, also by default.
  expect(replies({ url: "https://ntfy.example/mine" })).toBe(false);
  expect(replies({ url: "https://ntfy.example/mine", replies: true })).toHaveProperty("fields");
});

const ADDRESS = { server: "https://ntfy.example", topic: "relay-1", replies: "relay-reply-1" };
const QUESTION = { id: `qst_${"1".repeat(32)}`, key_id: "k", now: 1_800_000_000 };
const channel_id = `chn_${"2".repeat(32)}`;
const key = { label: "builder", last_host: null };

function render(input: object, { full = true, token = null as string | null } = {}) {
  const question = newQuestion({ prompt: "Ship it?", ...input }, QUESTION);
  const alert = composeQuestion(question, key, { full });
  const codes = codesOf(alert, channel_id, (of) => codeOf(signer, of), question.options);
  return renderOf(alert, codes, token);
}

function renderOf(alert: any, codes: ReadonlyMap<string, string>, token: string | null = null) {
  return ntfy.render(alert, {
    address: JSON.stringify({ ...ADDRESS, token }),
    ...{ delivery_id: "x", base_url: null, ticket: "mcq_ticket", shown: null, badge: null },
    ...{ handle: null, codes },
  }) as NtfyRequest;
}

test("a question offers its options by codes, and nothing that opens more [§19.8.3] [§14.3.11]", () => {
  const { publish } = render({ kind: "choice", options: ["Now", "Later"] }, { token: "tk_secret" });
  expect(publish.actions).toEqual(
    ["Now", "Later"].map((label, choice) => ({
      ...{
        action: "http",
        label: `“${label}”`,
        url: "https://ntfy.example/",
        method: "POST",
        clear: true,
      },
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        topic: "relay-reply-1",
        message: codeOf(signer, { subject: QUESTION.id, channel_id, choice }),
      }),
    })),
  );
  expect(JSON.stringify(publish)).not.toMatch(/tk_secret|mcq_/);
  expect(publish.message).toBe("Ship it?");
  expect(render({ kind: "text" }).publish).not.toHaveProperty("actions");
  const options = ["a", "b", "c", "d"];
  expect(render({ kind: "choice", options }).publish).not.toHaveProperty("actions");
  const generic = render({}, { full: false }).publish;
  expect(generic).not.toHaveProperty("actions");
  expect(JSON.stringify(generic)).not.toContain("Ship");
});

test("only a code made here, for this channel, is read; its test has another [§19.8.3] [§19.8.7]", () => {
  const of = { subject: QUESTION.id, channel_id, choice: 1 };
  const code = codeOf(signer, of);
  expect(code).toHaveLength(44);
  expect(readCode(signer, code, channel_id)).toEqual(of);
  expect(readCode(signer, code, `chn_${"3".repeat(32)}`)).toBeNull();
  expect(readCode(createSigner("sig_other"), code, channel_id)).toBeNull();
  for (const bad of ["", "x".repeat(44), `${code}A`, code.slice(1), code.replace(/.$/, "=")]) {
    expect(readCode(signer, bad, channel_id)).toBeNull();
  }
  const test = composeTest(channel_id, { asked_at: 1_795_257_360.2, expires_at: 0 });
  const codes = codesOf(test, channel_id, (one) => codeOf(signer, one));
  expect(readCode(signer, codes.get("It works")!, channel_id)).toEqual({
    ...{ subject: subjectOfTest(1_795_257_360.2), channel_id, choice: 254 },
  });
  expect(renderOf(test, codes).publish.actions).toMatchObject([{ label: "It works" }]);
});

test("the end of a question wakes no phone [§19.8.6]", () => {
  const ended = composeEndedQuestion(QUESTION.id, null, key, { full: true, expires_at: 0 });
  expect(renderOf(ended, new Map())).toMatchObject({ quiet: true, publish: { priority: 2 } });
});

test("addresses with the same server and token share a listener, whose key shows neither [§19.8.4]", () => {
  const { keyOf } = ntfy.replies!;
  const key_1 = keyOf(JSON.stringify({ ...ADDRESS, token: "tk_1" }));
  expect(key_1).toBe(replyKey("ntfy", "https://ntfy.example", "tk_1"));
  expect(key_1).toMatch(/^[\w-]{43}$/);
  const others = [
    { ...ADDRESS, token: "tk_2" },
    { ...ADDRESS, token: null },
    { ...ADDRESS, server: "https://other.example", token: "tk_1" },
  ];
  expect(new Set([key_1, ...others.map((one) => keyOf(JSON.stringify(one)))]).size).toBe(4);
  expect(keyOf(JSON.stringify({ server: "s", topic: "t", token: null }))).toBeNull();
});

test("the look-up for channels of several accounts uses the share of none of them [§19.8.8]", async () => {
  const owners: string[] = [];
  const outbound = createOutbound({
    private_networks: [],
    timers: systemClock,
    resolve: async (_host, owner) => {
      owners.push(owner);
      throw new Error("no such host");
    },
  });
  const member = (account_id: string) => ({
    ...{ account_id, channel_id: `chn_${account_id}` },
    address: JSON.stringify({ server: "https://ntfy.example", topic: "t", replies: account_id }),
  });
  const open = (...accounts: string[]) =>
    ntfy.replies!.open({
      ...{ key: "the key", from: null, outbound, clock: systemClock },
      channels: () => accounts.map(member),
      signal: new AbortController().signal,
    } as unknown as ReplyConnection);
  expect((await open("acc_1", "acc_1")).reason).toBe("unknown_host");
  await open("acc_1", "acc_2");
  expect(owners).toEqual(["acc_1", "the key"]);
});
