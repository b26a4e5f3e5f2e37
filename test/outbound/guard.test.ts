/** The outbound guard, which checks requests to addresses that users give, over real sockets. */

import { afterAll, describe, expect, test } from "bun:test";
import { createServer, type Socket } from "node:net";
import { systemClock } from "../../src/clock.ts";
import { hostOf } from "../../src/host-names.ts";
import { OutboundError, type OutboundOptions } from "../../src/outbound/guard.ts";
import { createTestClock } from "../support/clock.ts";
import { createOwnedOutbound } from "../support/outbound.ts";
import { createAuthority } from "../support/tls.ts";

const PRIVATE = ["127.0.0.0/8", "::1/128"];
const create = (options: Partial<OutboundOptions> = {}) =>
  createOwnedOutbound({ private_networks: PRIVATE, timers: systemClock, ...options });
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof OutboundError ? error.fault : String(error)),
  );
const never = Promise.withResolvers<never>().promise;

const requests: { host: string | null; path: string; body: string }[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const path = new URL(request.url).pathname;
    requests.push({ host: request.headers.get("host"), path, body: await request.text() });
    if (path === "/redirect") return Response.redirect("http://127.0.0.1:1/elsewhere", 302);
    if (path === "/large") return new Response(new Uint8Array(70_000));
    if (path === "/silent") return never;
    if (path === "/endless") {
      return new Response(
        new ReadableStream({
          async pull(controller) {
            controller.enqueue(new Uint8Array(16_384));
            await new Promise((next) => setImmediate(next));
          },
        }),
      );
    }
    return new Response("hello");
  },
});
afterAll(() => server.stop(true));
const at = (path: string) => `http://127.0.0.1:${server.port}${path}`;

describe("refused before a connection", () => {
  const open = createOwnedOutbound({ private_networks: [], timers: systemClock });
  test.each([
    ["https://127.0.0.1/", "forbidden_address"],
    ["https://2130706433/", "forbidden_address"],
    ["https://0x7f.1/", "forbidden_address"],
    ["https://0177.0.0.1/", "forbidden_address"],
    ["https://127.1/", "forbidden_address"],
    ["https://0x7f000001/", "forbidden_address"],
    ["https://017700000001/", "forbidden_address"],
    ["https://127.0.0.1./", "forbidden_address"],
    ["https://①②⑦.⓪.⓪.①/", "forbidden_address"],
    ["https://localhost/", "forbidden_address"],
    ["https://LOCALHOST/", "forbidden_address"],
    ["https://0.0.0.0/", "forbidden_address"],
    ["https://0/", "forbidden_address"],
    ["https://10.1.2.3/", "forbidden_address"],
    ["https://172.31.255.255/", "forbidden_address"],
    ["https://192.168.1.1/", "forbidden_address"],
    ["https://100.64.0.1/", "forbidden_address"],
    ["https://169.254.169.254/latest/meta-data", "forbidden_address"],
    ["https://168.63.129.16/", "forbidden_address"],
    ["https://192.0.2.1/", "forbidden_address"],
    ["https://198.51.100.1/", "forbidden_address"],
    ["https://203.0.113.1/", "forbidden_address"],
    ["https://192.88.99.1/", "forbidden_address"],
    ["https://240.0.0.1/", "forbidden_address"],
    ["https://100.100.100.200/", "forbidden_address"],
    ["https://198.18.0.1/", "forbidden_address"],
    ["https://224.0.0.1/", "forbidden_address"],
    ["https://255.255.255.255/", "forbidden_address"],
    ["https://[::1]/", "forbidden_address"],
    ["https://[::]/", "forbidden_address"],
    ["https://[::ffff:8.8.8.8]/", "forbidden_address"],
    ["https://[::ffff:7f00:1]/", "forbidden_address"],
    ["https://[64:ff9b::7f00:1]/", "forbidden_address"],
    ["https://[2002:7f00:1::]/", "forbidden_address"],
    ["https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "forbidden_address"],
    ["https://[fe80::1]/", "forbidden_address"],
    ["https://[fd00:ec2::254]/", "forbidden_address"],
    ["https://[fc00::1]/", "forbidden_address"],
    ["https://[ff02::1]/", "forbidden_address"],
    ["https://[2001:db8::1]/", "forbidden_address"],
    ["https://[3fff::1]/", "forbidden_address"],
    ["https://[2001:20::1]/", "forbidden_address"],
    ["https://[fec0::1]/", "forbidden_address"],
    ["https://[100::1]/", "forbidden_address"],
    ["https://[::7f00:1]/", "forbidden_address"],
    ["https://[0:0:0:0:0:ffff:a9fe:a9fe]/", "forbidden_address"],
    ["https://[fe80::1%25eth0]/", "invalid_url"],
    ["https://[::ffff:999.1.1.1]/", "invalid_url"],
    ["https://[4000::1]/", "forbidden_address"],
    ["http://8.8.8.8/", "invalid_url"],
    ["https://user@8.8.8.8/", "invalid_url"],
    ["https://user:password@8.8.8.8/", "invalid_url"],
    ["https://8.8.8.8/#part", "invalid_url"],
    ["ftp://8.8.8.8/", "invalid_url"],
    ["file:///etc/passwd", "invalid_url"],
    ["//8.8.8.8/", "invalid_url"],
    ["https://.google.com/", "invalid_url"],
    ["https://%2egoogle.com/", "invalid_url"],
    ["https://。google.com/", "invalid_url"],
    ["https://hook..example/", "invalid_url"],
    ["https://hook.example../", "invalid_url"],
    ["https://./", "invalid_url"],
    ["https://*.example/", "invalid_url"],
    ["https://a,b.example/", "invalid_url"],
    [`https://${"a".repeat(64)}.example/`, "invalid_url"],
    [`https://${"a.".repeat(127)}example/`, "invalid_url"],
    [`https://8.8.8.8/${"a".repeat(2_000)}`, "invalid_url"],
  ])("%s", async (url, fault) => {
    expect(await faultOf(open.check(url))).toBe(fault);
    expect(await faultOf(open.request({ url, method: "POST" }))).toBe(fault);
  });

  test("the guard lets a public address through", async () => {
    for (const url of ["https://8.8.8.8/x?y=1", "https://[2606:4700::1111]:8443/"]) {
      expect(await faultOf(open.check(url))).toBe("none");
    }
  });

  test("the guard lets names through that a name server can know [§11.6.1]", async () => {
    const named = create({ resolve: async () => ["8.8.8.8"] });
    for (const host of [
      "hook.example.",
      "my_nas.lan",
      "a-.example",
      "xn--bcher-kva.example",
      "Bücher.example",
      "nas:8443",
      `${"a".repeat(63)}.example`,
    ]) {
      expect([host, await faultOf(named.check(`https://${host}/`))]).toEqual([host, "none"]);
    }
  });

  test("the guard refuses a name if one of its addresses is not allowed", async () => {
    const mixed = create({
      private_networks: [],
      resolve: async () => ["8.8.8.8", "192.168.0.7"],
    });
    expect(await faultOf(mixed.check("https://hook.example/"))).toBe("forbidden_address");
  });

  test("the guard refuses a metadata address even in an allowed network", async () => {
    const wide = create({ private_networks: ["0.0.0.0/0", "::/0"] });
    for (const host of [
      "169.254.169.254",
      "[fd00:ec2::254]",
      "[fd00:42::42]",
      // The same address, written as IPv6 for a translator.
      "[::a9fe:a9fe]",
      "[::ffff:a9fe:a9fe]",
      "[::ffff:0:a9fe:a9fe]",
      "[64:ff9b::a9fe:a9fe]",
      "[64:ff9b:1::a9fe:a9fe]",
      "[2002:a9fe:a9fe::]",
    ]) {
      expect([host, await faultOf(wide.check(`http://${host}/`))]).toEqual([
        host,
        "forbidden_address",
      ]);
    }
    expect(await faultOf(wide.check("http://[::1]/"))).toBe("none");
  });

  test("the guard refuses a private address unless its network is allowed", async () => {
    const lan = create({ private_networks: ["192.168.0.0/16", "fd12::/16"] });
    for (const host of ["192.168.1.20", "[fd12::20]"]) {
      for (const scheme of ["http", "https"]) {
        expect(await faultOf(lan.check(`${scheme}://${host}:8080/hook`))).toBe("none");
      }
      expect(await faultOf(open.check(`https://${host}/`))).toBe("forbidden_address");
    }
    for (const host of ["192.169.1.20", "10.0.0.1", "127.0.0.1", "[fd13::20]", "[::1]"]) {
      const refused = host === "192.169.1.20" ? "invalid_url" : "forbidden_address";
      expect([host, await faultOf(lan.check(`http://${host}/`))]).toEqual([host, refused]);
    }
    const named = create({ private_networks: ["10.0.0.0/8"], resolve: async () => ["10.0.0.7"] });
    expect(await faultOf(named.check("http://nas.lan/"))).toBe("none");
  });

  test("the guard refuses a name that does not resolve", async () => {
    const none = create({ resolve: async () => [] });
    expect(await faultOf(none.check("https://hook.example/"))).toBe("unknown_host");
  });
});

test("a final dot and the usual port make no other host [§11.6.1]", () => {
  expect(hostOf("https://Hook.example.:443/x")).toBe("hook.example");
  expect(hostOf("https://hook.example.:8443/x")).toBe("hook.example:8443");
  expect(hostOf("https://[::1]:8443/x")).toBe("[::1]:8443");
  expect(hostOf("hook.example")).toBe("");
});

describe("requests through the guard", () => {
  test("a guarded request goes to the checked address under its own host name", async () => {
    const outbound = create({ resolve: async () => ["127.0.0.1"] });
    const url = `http://hook.example:${server.port}/in?a=1`;
    const answer = await outbound.request({ url, method: "POST", body: "über" });
    expect([answer.status, answer.body.toString()]).toEqual([200, "hello"]);
    const last = { host: `hook.example:${server.port}`, path: "/in", body: "über" };
    expect(requests.at(-1)).toEqual(last);
  });

  test("a name that changes between the check and the request is checked again", async () => {
    const answers = [["127.0.0.1"], ["169.254.169.254"]];
    const outbound = create({ resolve: async () => answers.shift() ?? [] });
    const url = `http://hook.example:${server.port}/rebound`;
    await outbound.check(url);
    const seen = requests.length;
    expect(await faultOf(outbound.request({ url, method: "GET" }))).toBe("forbidden_address");
    expect(requests.length).toBe(seen);
  });

  test("the next address is tried after a failed connection", async () => {
    const outbound = create({ resolve: async () => ["::1", "127.0.0.1"] });
    const url = `http://hook.example:${server.port}/second`;
    expect((await outbound.request({ url, method: "GET" })).status).toBe(200);
  });

  test("the next address is not tried after a request that was sent", async () => {
    let connections = 0;
    const rude = createServer((socket: Socket) => {
      connections++;
      socket.once("data", () => socket.destroy());
    });
    await new Promise<void>((ready) => rude.listen(0, "127.0.0.1", ready));
    const { port } = rude.address() as { port: number };
    const outbound = create({ resolve: async () => ["127.0.0.1", "127.0.0.1"] });
    const url = `http://hook.example:${port}/`;
    expect(await faultOf(outbound.request({ url, method: "POST", body: "x" }))).toBe("failed");
    expect(connections).toBe(1);
    rude.close();
  });

  test("a redirect is the response, and is not followed", async () => {
    const answer = await create().request({ url: at("/redirect"), method: "GET" });
    expect([answer.status, answer.headers.location]).toEqual([302, "http://127.0.0.1:1/elsewhere"]);
  });

  test("a guarded request does not use a proxy of the environment", async () => {
    const before = process.env.http_proxy;
    process.env.http_proxy = "http://127.0.0.1:1";
    try {
      expect((await create().request({ url: at("/direct"), method: "GET" })).status).toBe(200);
    } finally {
      if (before === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = before;
    }
  });

  test("a response above its size limit is cut off, even if it is endless", async () => {
    for (const path of ["/large", "/endless"]) {
      const work = create().request({ url: at(path), method: "GET" });
      expect(await faultOf(work)).toBe("answer_too_large");
    }
  });

  test("the deadline ends the wait for a silent server and a silent name server", async () => {
    const clock = createTestClock();
    const outbound = create({ timers: clock });
    const silent = faultOf(outbound.request({ url: at("/silent"), method: "GET" }));
    const deaf = faultOf(
      create({ timers: clock, resolve: () => never }).check("https://hook.example/"),
    );
    await clock.advance(10);
    expect(await Promise.all([silent, deaf])).toEqual(["timed_out", "timed_out"]);
  });

  test("the caller's signal ends a guarded request", async () => {
    const leaving = new AbortController();
    const work = create().request({ url: at("/silent"), method: "GET", signal: leaving.signal });
    leaving.abort();
    expect(await faultOf(work)).toBe("failed");
  });

  test("over TLS the certificate must match the name in the URL", async () => {
    const authority = await createAuthority();
    const secure = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: await authority.issue(),
      fetch: () => new Response("secure"),
    });
    const resolve = async () => ["127.0.0.1"];
    const trusting = create({ ca: authority.ca, resolve });
    const ask = (outbound: typeof trusting, host: string) =>
      outbound.request({ url: `https://${host}:${secure.port}/`, method: "GET" });
    expect((await ask(trusting, "localhost")).body.toString()).toBe("secure");
    expect((await ask(trusting, "localhost.")).body.toString()).toBe("secure");
    expect((await ask(trusting, "127.0.0.1")).body.toString()).toBe("secure");
    expect(await faultOf(ask(trusting, "hook.example"))).toBe("tls_failed");
    expect(await faultOf(ask(create({ resolve }), "localhost"))).toBe("tls_failed");
    await secure.stop(true);
  });
});
