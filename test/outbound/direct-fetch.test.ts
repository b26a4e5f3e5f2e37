/** Requests to known hosts go to an address that Relay looked up, and bypass the environment's proxies. */

import { afterAll, beforeEach, expect, test } from "bun:test";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { createDirectFetch } from "../../src/outbound/direct-fetch.ts";
import { createTestClock } from "../support/clock.ts";
import { createAuthority } from "../support/tls.ts";

const NAME = "push.example";
const authority = await createAuthority();
const identity = await authority.issue(NAME);
const connections = new Set<number>();
const target = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  tls: identity,
  fetch(request, server) {
    connections.add(server.requestIP(request)!.port);
    return new Response(request.headers.get("host"));
  },
});
afterAll(() => target.stop(true));

const clock = createTestClock();
let found: readonly string[] = [];
const asked: string[] = [];
const create = () =>
  createDirectFetch({
    timers: clock,
    async resolve(host) {
      asked.push(host);
      if (found.length === 0) throw new Error("unknown");
      return found;
    },
  });
const init = { method: "POST", body: "{}", headers: {}, tls: { ca: authority.ca } };
const at = (name = NAME, port = target.port) => `https://${name}:${port}/path`;
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "answered",
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );

beforeEach(() => {
  found = ["127.0.0.1"];
  asked.length = 0;
  connections.clear();
});

test("a direct request goes to the looked-up address, with the host name in Host and for the certificate [§11.6.5]", async () => {
  const { send } = create();
  for (let i = 0; i < 3; i++) {
    expect(await (await send(at(), init)).text()).toBe(`${NAME}:${target.port}`);
  }
  expect([asked, connections.size]).toEqual([[NAME], 1]);
  expect(await codeOf(send(at("other.example"), init))).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
  expect(await codeOf(send(at("127.0.0.1"), init))).toBe("answered");
});

/** Runs `work` while the environment names a proxy that does not exist. */
async function behindProxy(work: () => Promise<void>): Promise<void> {
  const names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = "http://127.0.0.1:9";
  try {
    await work();
  } finally {
    for (const [i, name] of names.entries()) {
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
    }
  }
}

test("HTTP/2 requests name the host too, as Apple's service requires [§11.6.5]", async () => {
  const server = http2.createSecureServer(identity);
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    stream.respond({ ":status": 200 });
    stream.end(headers[":authority"]);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  const send = async () => {
    const response = await create().send(at(NAME, port), { ...init, protocol: "http2" });
    expect(await response.text()).toBe(`${NAME}:${port}`);
  };
  await send();
  await behindProxy(send);
  server.close();
});

test("the next address is tried if a connection fails, and comes first from then on [§11.6.5]", async () => {
  found = ["127.0.0.2", "127.0.0.1"];
  const { send, addressesOf } = create();
  expect(await codeOf(send(at(), init))).toBe("answered");
  expect(await addressesOf(NAME)).toEqual(["127.0.0.1", "127.0.0.2"]);
  found = ["127.0.0.2"];
  expect(await codeOf(create().send(at(), init))).toBe("ECONNREFUSED");
});

test("addresses are forgotten after a while, and a failed look-up at once [§11.6.5]", async () => {
  const { send } = create();
  found = [];
  expect(await codeOf(send(at(), init))).toBe("unknown");
  found = ["127.0.0.1"];
  await Promise.all([send(at(), init), send(at(), init)]);
  expect(asked.length).toBe(2);
  await clock.advance(31);
  await send(at(), init);
  expect(asked.length).toBe(3);
});

test("a direct request does not use a proxy of the environment [§11.6.4]", async () => {
  await behindProxy(async () => {
    expect(await codeOf(create().send(at(), init))).toBe("answered");
  });
});
