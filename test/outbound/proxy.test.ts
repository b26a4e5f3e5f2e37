/** Requests through the proxy that the operator names (§11.6.4). */

import { afterAll, beforeEach, expect, test } from "bun:test";
import { createServer } from "node:net";
import { systemClock } from "../../src/clock.ts";
import { OutboundError, type OutboundOptions } from "../../src/outbound/guard.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startConnectProxy } from "../support/connect-proxy.ts";
import { createOwnedOutbound } from "../support/outbound.ts";
import { createAuthority } from "../support/tls.ts";
import { until } from "../support/until.ts";

const PUBLIC = "93.184.216.34";
const PUBLIC_6 = "2606:4700::1111";
const never = Promise.withResolvers<never>().promise;

const authority = await createAuthority();
const got: { host: string | null; path: string; body: string }[] = [];
const target = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  tls: await authority.issue(),
  async fetch(request) {
    const { pathname: path } = new URL(request.url);
    got.push({ host: request.headers.get("host"), path, body: await request.text() });
    if (path === "/redirect") return Response.redirect("https://localhost/elsewhere", 302);
    if (path === "/large") return new Response(new Uint8Array(70_000));
    if (path === "/silent") return never;
    return new Response("hello");
  },
});
afterAll(() => target.stop(true));
const proxy = await startConnectProxy({ to: target.port! });

beforeEach(() => {
  proxy.behave(() => 200);
  proxy.take();
  got.length = 0;
});

const create = (options: Partial<OutboundOptions> = {}) =>
  createOwnedOutbound({
    private_networks: [],
    proxy: proxy.url,
    ca: authority.ca,
    resolve: async () => [PUBLIC],
    timers: systemClock,
    ...options,
  });
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof OutboundError ? error.fault : String(error)),
  );
const get = (outbound: ReturnType<typeof create>, url: string) =>
  outbound.request({ url, method: "GET" });
const lines = () => proxy.take().map(({ line }) => line);

test("the tunnel leads to the checked address, and TLS goes through it to the receiver [§11.6.4]", async () => {
  const url = "https://localhost:8443/in?a=1";
  const body = "ü".repeat(20_000);
  const answer = await create().request({ url, method: "POST", body });
  expect([answer.status, answer.body.toString()]).toEqual([200, "hello"]);
  expect(got).toEqual([{ host: "localhost:8443", path: "/in", body }]);
  expect(lines()).toEqual([`CONNECT ${PUBLIC}:8443 HTTP/1.1`]);
  await get(create({ resolve: async () => [PUBLIC_6] }), "https://localhost/");
  expect(lines()).toEqual([`CONNECT [${PUBLIC_6}]:443 HTTP/1.1`]);
  await until(() => proxy.open() === 0);
});

test("through a proxy, the receiver's certificate must match the URL's host name and be trusted [§11.6.4]", async () => {
  expect(await faultOf(get(create(), "https://hook.example/"))).toBe("tls_failed");
  expect(await faultOf(get(create(), `https://${PUBLIC}/`))).toBe("tls_failed");
  const other = await createAuthority();
  const doubting = create({ ca: other.ca });
  expect(await faultOf(get(doubting, "https://localhost/"))).toBe("tls_failed");
  expect(got).toEqual([]);
  await until(() => proxy.open() === 0);
});

test("the user name and password of the proxy's URL go only to the proxy [§11.6.4]", async () => {
  const named = create({ proxy: `http://re%3Alay:p%40ss@127.0.0.1:${proxy.port}` });
  await get(named, "https://localhost/");
  const [asked] = proxy.take();
  const credentials = Buffer.from("re:lay:p@ss").toString("base64");
  expect(asked!.headers).toContain(`proxy-authorization: Basic ${credentials}`);
  expect(Object.keys(got[0]!)).toEqual(["host", "path", "body"]);
  await get(create(), "https://localhost/");
  expect(proxy.take()[0]!.headers.toLowerCase()).not.toContain("authorization");
});

test("the proxy itself may use TLS [§11.6.4]", async () => {
  const secure = await startConnectProxy({
    to: target.port!,
    identity: await authority.issue(),
  });
  const answer = await get(create({ proxy: secure.url }), "https://localhost/");
  expect(answer.body.toString()).toBe("hello");
  const other = await createAuthority();
  const doubting = create({ proxy: secure.url, ca: other.ca });
  expect(await faultOf(get(doubting, "https://localhost/"))).toBe("unreachable");
  expect(secure.take().length).toBe(1);
});

test("an address that the guard refuses never reaches the proxy [§11.6.1]", async () => {
  const answers = [[PUBLIC], ["169.254.169.254"], ["10.0.0.1"], [PUBLIC, "127.0.0.1"]];
  const outbound = create({ resolve: async () => answers.shift() ?? [] });
  await outbound.check("https://localhost/");
  for (let i = 0; i < 3; i++) {
    expect(await faultOf(get(outbound, "https://localhost/"))).toBe("forbidden_address");
  }
  expect(await faultOf(get(create(), "http://localhost/"))).toBe("invalid_url");
  expect(await faultOf(get(create(), "https://user@localhost/"))).toBe("invalid_url");
  expect(proxy.take()).toEqual([]);
});

test("allowed private networks are reached directly [§11.6.4]", async () => {
  const plain = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("plain") });
  const resolve = async () => ["127.0.0.1"];
  const outbound = create({ private_networks: ["127.0.0.0/8"], resolve });
  const direct = await get(outbound, `https://localhost:${target.port}/`);
  expect(direct.body.toString()).toBe("hello");
  const open = await get(outbound, `http://localhost:${plain.port}/`);
  expect(open.body.toString()).toBe("plain");
  expect(proxy.take()).toEqual([]);
  await plain.stop(true);
});

test("if a proxy opens no tunnel, the address counts as unreachable and the next is tried [§11.6.4]", async () => {
  for (const does of [403, 407, 502, "close"] as const) {
    proxy.behave(() => does);
    expect([does, await faultOf(get(create(), "https://localhost/"))]).toEqual([
      does,
      "unreachable",
    ]);
  }
  const away = create({ proxy: "http://127.0.0.1:1" });
  expect(await faultOf(get(away, "https://localhost/"))).toBe("unreachable");
  proxy.take();
  proxy.behave((to) => (to.startsWith("[") ? 502 : 200));
  const two = create({ resolve: async () => [PUBLIC_6, PUBLIC] });
  expect((await get(two, "https://localhost/")).status).toBe(200);
  expect(lines()).toEqual([`CONNECT [${PUBLIC_6}]:443 HTTP/1.1`, `CONNECT ${PUBLIC}:443 HTTP/1.1`]);
  expect(got.length).toBe(1);
});

test("a request is not tried again once TLS has begun [§11.6.3]", async () => {
  const rude = createServer((socket) => socket.once("data", () => socket.destroy()));
  await new Promise<void>((ready) => rude.listen(0, "127.0.0.1", ready));
  const { port } = rude.address() as { port: number };
  const past = await startConnectProxy({ to: port });
  const two = create({ proxy: past.url, resolve: async () => [PUBLIC, PUBLIC] });
  expect(await faultOf(get(two, "https://localhost/"))).toBe("failed");
  expect(past.take().length).toBe(1);
  rude.close();
});

test("limits on redirects, length and time hold in a tunnel, which is then closed [§11.6.3]", async () => {
  const redirect = await get(create(), "https://localhost/redirect");
  expect([redirect.status, redirect.headers.location]).toEqual([
    302,
    "https://localhost/elsewhere",
  ]);
  expect(await faultOf(get(create(), "https://localhost/large"))).toBe("answer_too_large");
  const clock = createTestClock();
  const slow = create({ timers: clock });
  const silent = faultOf(get(slow, "https://localhost/silent"));
  await until(() => got.some(({ path }) => path === "/silent"));
  await clock.advance(10);
  expect(await silent).toBe("timed_out");
  proxy.behave(() => "hang");
  proxy.take();
  const mute = faultOf(get(slow, "https://localhost/"));
  await until(() => proxy.open() > 0);
  await clock.advance(10);
  expect(await mute).toBe("timed_out");
  await until(() => proxy.open() === 0);
});

test("a receiver that never finishes its TLS handshake is given up [§11.6.3]", async () => {
  const mute = createServer(() => {});
  await new Promise<void>((ready) => mute.listen(0, "127.0.0.1", ready));
  const { port } = mute.address() as { port: number };
  const past = await startConnectProxy({ to: port });
  const clock = createTestClock();
  const work = faultOf(get(create({ proxy: past.url, timers: clock }), "https://localhost/"));
  await until(() => past.open() === 1);
  await clock.advance(10);
  expect(await work).toBe("timed_out");
  await until(() => past.open() === 0);
  mute.close();
});

test("other proxy variables have no effect [§11.6.4]", async () => {
  const names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"];
  const before = names.map((name) => process.env[name]);
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  for (const name of names) set(name, "http://127.0.0.1:1");
  set("NO_PROXY", "*");
  try {
    const resolve = async () => ["127.0.0.1"];
    const direct = create({ private_networks: ["127.0.0.0/8"], resolve });
    expect((await get(direct, `https://localhost:${target.port}/`)).status).toBe(200);
    expect((await get(create(), "https://localhost/")).status).toBe(200);
    expect(proxy.take().length).toBe(1);
  } finally {
    for (const [i, name] of names.entries()) set(name, before[i]);
    delete process.env.NO_PROXY;
  }
});

test("a Relay with OUTBOUND_PROXY sends webhooks through the proxy [§11.6.4]", async () => {
  const app = await startTestApp({
    env: { OUTBOUND_PROXY: proxy.url },
    outbound: { ca: authority.ca, resolve: async () => [PUBLIC] },
  });
  const { send } = await createPerson(app.url);
  const given = { type: "webhook", label: "CI", url: "https://localhost/hook" };
  expect((await send("POST /v1/channels", given)).status).toBe(201);
  await app.webhooks.settled();
  expect(got.map(({ path, host }) => [path, host])).toEqual([["/hook", "localhost"]]);
  expect(JSON.parse(got[0]!.body).type).toBe("channel.test");
  expect(lines()).toEqual([`CONNECT ${PUBLIC}:443 HTTP/1.1`]);
});
