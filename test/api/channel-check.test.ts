/** Why a channel would not work here, before it is created (§19.2.11). */

import { expect, test } from "bun:test";
import { type Clock, systemClock } from "../../src/clock.ts";
import { RATES } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy } from "../support/ntfy.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTelegram } from "../support/telegram.ts";

/** Names of a network in which nothing else exists. */
const NAMES: Readonly<Record<string, string>> = {
  "hooks.example": "203.0.114.7",
  "relay.example": "203.0.114.8",
  "nas.example": "192.168.1.20",
};
const resolve = async (name: string) => {
  if (NAMES[name]) return [NAMES[name]];
  throw Object.assign(new Error(name), {
    code: name.startsWith("slow") ? "DNS_ETIMEOUT" : "ENOTFOUND",
  });
};

const receiver = startReceiver();
const ntfy = await startNtfy();
const telegram = await startTelegram({ clock: systemClock });
const CLOSED = "http://127.0.0.1:9";
const OWN = "https://relay.example/relay";

const start = async (env: Record<string, string>, clock: Clock = systemClock) => {
  const app = await startTestApp({
    ...{ clock, env: { PUBLIC_URL: OWN, ...env }, outbound: { resolve } },
  });
  const person = await createPerson(app.local_url);
  const check = (body: object) => person.send("POST /v1/channels/check", body);
  return { person, check, codeOf: async (body: object) => (await check(body)).body.problem };
};
const services = { NTFY_SERVER: ntfy.url, TELEGRAM_API_ROOT: telegram.url };
const working = await start(services);
const cut_off = await start({ NTFY_SERVER: CLOSED, TELEGRAM_API_ROOT: CLOSED });

const webhook = (url: string) => ({ type: "webhook", url });

test("nothing is known against channels that can work, and nothing is created or sent [§19.2.11]", async () => {
  const { person, codeOf } = working;
  const fine = [
    webhook("https://hooks.example/relay"),
    // Beside this server, not below its base address.
    webhook("https://relay.example/relayed"),
    webhook(receiver.url("/hook")),
    // Of a webhook only the host is looked up.
    webhook(`${CLOSED}/hook`),
    { type: "ntfy" },
    { type: "ntfy", url: `${ntfy.url}/my-topic` },
    { type: "telegram" },
    { type: "web_push" },
  ];
  for (const body of fine) expect([body, await codeOf(body)]).toEqual([body, null]);
  expect((await person.send("GET /v1/channels")).body.channels).toEqual([]);
  expect([receiver.got, ntfy.published, ntfy.faults]).toEqual([[], [], []]);
});

test("what cannot work is said with its reason, and whether the channel would be refused [§19.2.11] [§19.1.6]", async () => {
  const { person, codeOf } = working;
  const wrong: readonly (readonly [object, string, boolean, RegExp])[] = [
    [webhook("https://10.1.2.3/"), "forbidden_address", true, /^10\.1\.2\.3 .*OUTBOUND_PRIVATE/],
    [webhook("https://nas.example/"), "forbidden_address", true, /^nas\.example /],
    [webhook("http://hooks.example/"), "invalid_url", true, /https only/],
    [webhook("ftp://hooks.example/"), "invalid_url", true, /https only/],
    [webhook("https://gone.example/"), "unknown_host", true, /gone\.example/],
    [webhook("https://slow.example/"), "timed_out", false, /slow\.example/],
    [webhook(OWN), "own_address", false, /^relay\.example is Relay itself/],
    [webhook(`${OWN}/v1/hook`), "own_address", false, /Relay itself/],
    [{ type: "ntfy", url: `${CLOSED}/topic` }, "unreachable", false, /127\.0\.0\.1:9/],
    [{ type: "ntfy", url: "http://hooks.example" }, "invalid_url", true, /https only/],
  ];
  for (const [body, code, refused, words] of wrong) {
    const problem = await codeOf(body);
    expect([body, problem]).toEqual([
      body,
      { code, refused, detail: expect.stringMatching(words) },
    ]);
    // Whether the creation is refused is the server's own word.
    const { status } = await person.send("POST /v1/channels", { label: "x", ...body });
    expect([body, status]).toEqual([body, refused ? 422 : 201]);
  }
});

test("a server without a way out says so before anything is set up [§19.2.11]", async () => {
  for (const body of [{ type: "telegram" }, { type: "ntfy" }]) {
    const problem = await cut_off.codeOf(body);
    expect([body, problem]).toMatchObject([body, { code: "unreachable", refused: false }]);
  }
  const plain = await start({ PUBLIC_URL: "http://relay.lan:3000" });
  expect(await plain.codeOf({ type: "web_push" })).toMatchObject({ code: "off", refused: true });
});

test("a check needs the fields of its type, and counts as a use of an address [§19.2.11] [§10.6.8]", async () => {
  const { check } = working;
  for (const body of [{ type: "webhook" }, { type: "telegram", url: "https://hooks.example/" }]) {
    const { status, body: refusal } = await check(body);
    expect([body, status, Object.keys(refusal.fields)]).toEqual([body, 422, ["url"]]);
  }
  const limited = await start({ ...services, RATE_LIMITS: "on" }, createTestClock());
  let checks = 0;
  while ((await limited.check(webhook("https://10.1.2.3/"))).status === 200) checks++;
  expect(checks).toBe(RATES.address_uses.quota);
});
