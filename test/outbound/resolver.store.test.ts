/** Look-ups of host names: what they find, and that nobody waits for another account's (§11.6.5). */

import { beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { LOOK_UP } from "../../src/outbound/limits.ts";
import type { NameServices } from "../../src/outbound/name-services.ts";
import { nameServicesOf } from "../../src/outbound/name-services.ts";
import { createResolver } from "../../src/outbound/resolver.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startNameServer, type Zone } from "../support/name-server.ts";
import { startReceiver } from "../support/receiver.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

let zone: Zone = () => "missing";
const server = await startNameServer((name, over) => zone(name, over));
const folder = tempFolder();
const hosts_file = join(folder, "hosts");
const resolv_conf = join(folder, "resolv.conf");
const nowhere: NameServices = { order: () => "never", ask: async () => [] };

beforeEach(() => {
  zone = () => "missing";
  server.take();
  writeFileSync(hosts_file, "127.0.0.1 localhost\n");
  writeFileSync(resolv_conf, "");
});

const create = (options: Partial<Parameters<typeof createResolver>[0]> = {}) =>
  createResolver({
    timers: systemClock,
    servers: [server.address],
    hosts_file,
    resolv_conf,
    services: nowhere,
    ...options,
  });
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "found",
    (error: { code?: string }) => error.code,
  );

describe("look-ups", () => {
  test("a look-up finds IPv4 and IPv6 addresses alternately, also behind aliases [§11.6.5]", async () => {
    const resolve = create();
    zone = () => [
      { type: "A", value: "192.0.2.1" },
      { type: "A", value: "192.0.2.2" },
      { type: "AAAA", value: "2001:db8::1" },
    ];
    expect(await resolve("both.example", "a")).toEqual(["192.0.2.1", "2001:db8::1", "192.0.2.2"]);
    zone = () => [{ type: "AAAA", value: "2001:db8::6" }];
    expect(await resolve("six.example", "a")).toEqual(["2001:db8::6"]);
    zone = () => [
      { type: "CNAME", value: "other.example" },
      { type: "A", value: "192.0.2.3", of: "other.example" },
    ];
    expect(await resolve("named.example", "a")).toEqual(["192.0.2.3"]);
  });

  test("an answer that is too long for UDP comes over TCP [§11.6.5]", async () => {
    const many = Array.from({ length: 60 }, (_, i) => `192.0.2.${i}`);
    zone = (_, over) =>
      over === "udp" ? "truncated" : many.map((value) => ({ type: "A", value }) as const);
    expect(await create()("many.example", "a")).toEqual(many);
  });

  test("a look-up reports a name that does not exist, has no address, or meets a faulty server [§11.6.5]", async () => {
    const resolve = create();
    expect(await codeOf(resolve("missing.example", "a"))).toBe("ENOTFOUND");
    zone = () => [];
    expect(await codeOf(resolve("empty.example", "a"))).toBe("ENOTFOUND");
    zone = () => "broken";
    expect(await codeOf(resolve("broken.example", "a"))).toBe("DNS_ESERVFAIL");
  });

  test("a name server that answers for only one address family delays nothing [§11.6.5]", async () => {
    const clock = createTestClock();
    const resolve = create({ timers: clock });
    let asked = 0;
    zone = (name) => {
      if (name !== "half.example") return "missing";
      // The first query is for IPv4.
      return ++asked === 1 ? [{ type: "A", value: "192.0.2.4" }] : "silent";
    };
    const found = resolve("half.example", "a");
    await until(() => clock.pendingIn(LOOK_UP.other_family) === 1);
    await clock.advance(LOOK_UP.other_family);
    expect(await found).toEqual(["192.0.2.4"]);
  });

  test("the machine's hosts file comes first, and is read again after a change [§11.6.5]", async () => {
    const lines = [
      "127.0.0.1 localhost",
      "192.0.2.7  Hook.example\talias # comment no.example",
      "2001:db8::7 hook.example",
      "# 192.0.2.8 no.example",
    ];
    writeFileSync(hosts_file, lines.join("\r\n"));
    const resolve = create();
    expect(await resolve("HOOK.example", "a")).toEqual(["192.0.2.7", "2001:db8::7"]);
    expect(await resolve("hook.example.", "a")).toEqual(["192.0.2.7", "2001:db8::7"]);
    expect(await resolve("alias", "a")).toEqual(["192.0.2.7"]);
    expect(server.take()).toEqual([]);
    for (const name of ["no.example", "hook", "ook.example"]) {
      expect([name, await codeOf(resolve(name, "a"))]).toEqual([name, "ENOTFOUND"]);
    }
    writeFileSync(hosts_file, "192.0.2.9 hook.example");
    expect(await resolve("hook.example", "a")).toEqual(["192.0.2.9"]);
  });

  test("localhost is never looked up outside the machine [§11.6.5]", async () => {
    writeFileSync(hosts_file, "");
    const resolve = create();
    for (const name of ["localhost", "app.localhost", "LOCALHOST."]) {
      expect(await resolve(name, "a")).toEqual(["127.0.0.1", "::1"]);
    }
    expect(server.take()).toEqual([]);
  });

  test("the search domains of resolv.conf are tried, by its number of dots [§11.6.5]", async () => {
    const names = new Set<string>();
    zone = (name) => {
      names.add(name);
      const known = name === "ntfy.default.svc.cluster.example" || name === "a.b.c.example";
      return known ? [{ type: "A", value: "192.0.2.5" }] : "missing";
    };
    const asked = () => {
      const all = [...names];
      names.clear();
      return all;
    };
    const resolve = create();
    expect(await codeOf(resolve("ntfy", "a"))).toBe("ENOTFOUND");
    expect(asked()).toEqual(["ntfy"]);
    const searched =
      "search default.svc.cluster.example. svc.cluster.example\noptions ndots:3 edns0\n";
    writeFileSync(resolv_conf, searched);
    expect(await resolve("ntfy", "a")).toEqual(["192.0.2.5"]);
    expect(asked()).toEqual(["ntfy.default.svc.cluster.example"]);
    expect(await resolve("ntfy.default", "a")).toEqual(["192.0.2.5"]);
    expect(asked()).toEqual([
      "ntfy.default.default.svc.cluster.example",
      "ntfy.default.svc.cluster.example",
    ]);
    expect(await resolve("a.b.c.example", "a")).toEqual(["192.0.2.5"]);
    expect(asked()).toEqual(["a.b.c.example"]);
    expect(await codeOf(resolve("ntfy.", "a"))).toBe("ENOTFOUND");
    expect(asked()).toEqual(["ntfy"]);
  });

  test("the machine's other name services are asked for names that name servers do not know [§11.6.5]", async () => {
    const asked: string[] = [];
    const services: NameServices = {
      order: (name) => (name.endsWith(".local") ? "first" : "last"),
      async ask(name) {
        asked.push(name);
        return name === "nas.local" || name === "guest" ? ["192.0.2.6"] : [];
      },
    };
    const resolve = create({ services });
    expect(await resolve("nas.local", "a")).toEqual(["192.0.2.6"]);
    expect(server.take()).toEqual([]);
    expect(await resolve("guest", "a")).toEqual(["192.0.2.6"]);
    expect(await codeOf(resolve("other.local", "a"))).toBe("ENOTFOUND");
    zone = () => [{ type: "A", value: "192.0.2.1" }];
    expect(await resolve("hook.example", "a")).toEqual(["192.0.2.1"]);
    expect(asked).toEqual(["nas.local", "guest", "other.local"]);
  });

  test.if(process.platform === "linux")(
    "nsswitch.conf says which name services there are [§11.6.5]",
    async () => {
      const nsswitch = join(folder, "nsswitch.conf");
      const orders = (line: string) => {
        writeFileSync(nsswitch, `passwd: files\n${line}\n`);
        const { order } = nameServicesOf(nsswitch);
        return ["nas.local", "guest", "hook.example"].map(order);
      };
      expect(orders("hosts: files dns")).toEqual(["never", "never", "never"]);
      expect(orders("hosts: files mdns4_minimal [NOTFOUND=return] dns # x")).toEqual([
        "first",
        "never",
        "never",
      ]);
      expect(orders("hosts: files libvirt dns myhostname")).toEqual(["last", "last", "last"]);
      const { signal } = new AbortController();
      const services = nameServicesOf(nsswitch);
      expect(await services.ask("localhost", signal)).toContain("127.0.0.1");
      expect(await services.ask("--help", signal)).toEqual([]);
      expect(await services.ask("localhost", AbortSignal.abort())).toEqual([]);
    },
  );
});

describe("name servers that never answer", () => {
  const hangs: Zone = (name) =>
    name.endsWith(".hang.example") ? "silent" : [{ type: "A", value: "127.0.0.1" }];

  test("silent name servers delay neither files nor other accounts, and are given up in time [§11.6.5]", async () => {
    zone = hangs;
    const clock = createTestClock();
    const resolve = create({ timers: clock });
    const hung = Array.from({ length: 40 }, (_, i) => codeOf(resolve(`h${i}.hang.example`, "a")));
    await until(() => server.names().size === LOOK_UP.per_account);
    expect(await Bun.file(import.meta.path).text()).toContain("never answer");
    expect(await resolve("good.example", "b")).toEqual(["127.0.0.1"]);
    await clock.advance(LOOK_UP.seconds);
    expect(new Set(await Promise.all(hung))).toEqual(new Set(["DNS_ETIMEOUT"]));
    // The account's turns are free again.
    expect(await resolve("good.example", "a")).toEqual(["127.0.0.1"]);
  });

  test("too many look-ups of one account fail at once [§11.6.5]", async () => {
    zone = hangs;
    const clock = createTestClock();
    const resolve = create({ timers: clock });
    const most = LOOK_UP.per_account + LOOK_UP.waiting;
    const hung = Array.from({ length: most }, (_, i) => codeOf(resolve(`h${i}.hang.example`, "a")));
    expect(await codeOf(resolve("good.example", "a"))).toBe("DNS_ETIMEOUT");
    expect(await resolve("good.example", "b")).toEqual(["127.0.0.1"]);
    await clock.advance(LOOK_UP.seconds);
    await Promise.all(hung);
  });

  test("silent name servers delay neither other accounts' webhooks nor the page [§11.6.5]", async () => {
    zone = hangs;
    const receiver = startReceiver();
    const app = await startTestApp({
      outbound: { resolve: create() },
      env: { OUTBOUND_PRIVATE: "127.0.0.0/8" },
    });
    const other = await createPerson(app.local_url);
    const channels = Array.from({ length: 5 }, (_, i) => {
      const url = `https://h${i}.hang.example/hook`;
      return other.send("POST /v1/channels", { type: "webhook", label: `${i}`, url });
    });
    const person = await createPerson(app.local_url);
    const agent = await createAgent(app.local_url, person, "builder");
    const url = receiver.url("/hook", "good.example");
    const own = { type: "webhook", label: "own", url };
    expect((await person.send("POST /v1/channels", own)).status).toBe(201);
    await until(() => server.names().size >= 5);
    await agent.send("POST /v1/tasks", { title: "Build" });
    await until(() => receiver.got.some(({ type }) => type === "task.created"));
    expect((await fetch(app.local_url)).status).toBe(200);
    await Promise.all(channels);
  });
});
