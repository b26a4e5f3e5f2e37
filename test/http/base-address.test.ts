/** Which hosts belong to this server, the base address of a request, and the addresses for other devices. */

import { expect, test } from "bun:test";
import type { NetworkInterfaceInfo } from "node:os";
import { createBaseAddresses, lanAddresses } from "../../src/http/base-address.ts";

type Options = Parameters<typeof createBaseAddresses>[0];

const interfaceOf = (address: string, internal = false): NetworkInterfaceInfo => {
  const more = { netmask: "", mac: "", internal, cidr: null };
  return address.includes(":")
    ? { ...more, address, family: "IPv6", scopeid: 0 }
    : { ...more, address, family: "IPv4" };
};

const LAN = {
  lo: [interfaceOf("127.0.0.1", true), interfaceOf("::1", true)],
  docker0: [interfaceOf("172.17.0.1")],
  eth0: [interfaceOf("fe80::1"), interfaceOf("fd00::2"), interfaceOf("192.168.1.20")],
};

const create = (options: Partial<Options> = {}) =>
  createBaseAddresses({
    public_url: undefined,
    allowed_hosts: [],
    listen_host: "127.0.0.1",
    port: () => 3000,
    tls: false,
    trusted_hops: 0,
    machineName: () => "Studio.corp.example",
    interfaces: () => LAN,
    ...options,
  });

const requestTo = (host: string | null, more: Record<string, string> = {}) =>
  new Request("http://ignored/mcp", { headers: { ...(host !== null && { host }), ...more } });

const ACCEPTED = [
  ...[
    "192.168.1.20",
    "127.0.0.1",
    "203.0.113.9:8443",
    "0.0.0.0",
    "2130706433",
    "0x7f.1",
    "127.0.0.1.",
  ],
  ...["[::1]", "[fd00::2]:3000", "[2001:DB8::1]", "[::ffff:192.168.1.20]"],
  ...["localhost", "LOCALHOST:3000", "localhost.", "relay.localhost", "a.b.localhost:1"],
  ...["relay", "Relay:3000", "studio", "studio.local", "STUDIO.LOCAL:3000", "studio.local."],
];

const FOREIGN = [
  ...["evil.example", "evil.example:3000", "evil.example.", "EVIL.EXAMPLE", "evil.example:80"],
  ...["localhost.evil.com", "studio.local.evil.com", "127.0.0.1.nip.io", "192.168.1.20.evil.com"],
  ...["other.local", "xstudio.local", "a.studio.local", "studio.corp.example", ".local"],
  ...["evillocalhost.example", "xlocalhost.evil", "1.2.3.4.5", "256.0.0.1"],
];

const INVALID = [
  ...["", " ", ":3000", "[::1", "::1", "[fe80::1%25eth0]", "[1.2.3.4]", "localhost:99999"],
  ...["evil.example@localhost", "localhost/x", "localhost#evil", "localhost?x", "localhost\\x"],
  ...["a b", "127.evil..", "%6cocalhost.evil"],
];

test("a Host that is an address, a name without a dot or this machine's name is accepted, on any port [§1.7.2]", () => {
  const { isAcceptedHost, hostRefusal, ofRequest } = create();
  for (const host of ACCEPTED) {
    expect([host, isAcceptedHost(host)]).toEqual([host, true]);
    expect(hostRefusal(requestTo(host))).toBeNull();
  }
  for (const host of [...FOREIGN, ...INVALID]) {
    expect([host, isAcceptedHost(host)]).toEqual([host, false]);
  }
  for (const host of FOREIGN) {
    expect(ofRequest(requestTo(host))).toBeNull();
    const refused = hostRefusal(requestTo(host));
    expect(refused).toMatchObject({ code: "forbidden", status: 403 });
    expect(refused?.message).toContain("ALLOWED_HOSTS");
    expect(refused?.message).not.toContain(host);
  }
  expect(hostRefusal(requestTo(null))).toMatchObject({ code: "forbidden" });
});

test("the host of PUBLIC_URL and the names of ALLOWED_HOSTS are accepted [§1.7.2]", () => {
  const options = { public_url: "https://Relay.example:8443/x/", allowed_hosts: ["box.lan"] };
  const { isAcceptedHost } = create(options);
  for (const host of ["relay.example", "RELAY.example.:1", "box.lan", "Box.LAN:3000", "box.lan."]) {
    expect([host, isAcceptedHost(host)]).toEqual([host, true]);
  }
  for (const host of ["a.relay.example", "relay.example.evil", "x.box.lan", "evil.example"]) {
    expect([host, isAcceptedHost(host)]).toEqual([host, false]);
  }
});

test("the base address of a request has the host that its client used [§1.7.3]", () => {
  const { ofRequest } = create();
  for (const [host, base] of [
    ["127.0.0.1:3000", "http://127.0.0.1:3000"],
    ["LOCALHOST:80", "http://localhost"],
    ["192.168.1.20:443", "http://192.168.1.20:443"],
    ["[FD00::2]:3000", "http://[fd00::2]:3000"],
    ["studio.local.:3000", "http://studio.local.:3000"],
  ] as const) {
    expect(ofRequest(requestTo(host))).toBe(base);
  }
});

test("the scheme comes from PUBLIC_URL, from TLS in this process, or from the trusted proxy [§1.7.3]", () => {
  const shown = create({ public_url: "https://relay.example/x", trusted_hops: 1 });
  const plain = { "x-forwarded-proto": "http" };
  expect(shown.ofRequest(requestTo("relay.example:443", plain))).toBe("https://relay.example/x");
  expect(shown.ofRequest(requestTo("relay.example"))).toBe("https://relay.example/x");
  expect(shown.ofRequest(requestTo("relay.example:8080"))).toBe("http://relay.example:8080");
  expect(create({ tls: true }).ofRequest(requestTo("box:443"))).toBe("https://box");

  const sent = (trusted_hops: number, proto: string) =>
    create({ trusted_hops }).ofRequest(requestTo("box", { "x-forwarded-proto": proto }));
  expect(sent(0, "https")).toBe("http://box");
  expect(sent(1, "https")).toBe("https://box");
  expect(sent(1, "HTTPS")).toBe("https://box");
  // The last entry is from our proxy, whatever the client sent before it.
  expect(sent(1, "https, http")).toBe("http://box");
  expect(sent(2, "http, https , http")).toBe("https://box");
  // The inner proxy replaced it.
  expect(sent(2, "https")).toBe("https://box");
  for (const other of ["javascript", "ftp", "", "https://evil", "wss"]) {
    expect([other, sent(1, other)]).toEqual([other, "http://box"]);
  }
});

test("network cards come before bridges and IPv6, and loopback and link-local are left out [§1.7.4]", () => {
  const found = lanAddresses({
    lo: [interfaceOf("127.0.0.1", true)],
    "br-12ab": [interfaceOf("172.18.0.1")],
    tailscale0: [interfaceOf("100.101.102.103"), interfaceOf("fd7a::1")],
    eth1: [interfaceOf("203.0.113.7"), interfaceOf("169.254.3.4"), interfaceOf("fe80::2")],
    wlan0: [interfaceOf("2001:db8::5"), interfaceOf("10.0.0.5")],
    en0: [interfaceOf("172.31.255.1"), interfaceOf("192.168.178.2")],
  });
  expect(found).toEqual([
    ...["10.0.0.5", "172.31.255.1", "192.168.178.2", "203.0.113.7"],
    ...["172.18.0.1", "100.101.102.103", "2001:db8::5", "fd7a::1"],
  ]);
  const many = Array.from({ length: 50 }, (_, i) => interfaceOf(`10.0.0.${i}`));
  expect(lanAddresses({ en0: many })).toHaveLength(8);
});

test("addresses that others can reach follow from HOST and PUBLIC_URL [§1.7.4]", () => {
  const reachable = (listen_host: string, more: Partial<Options> = {}) =>
    create({ listen_host, ...more }).reachable();
  for (const host of ["127.0.0.1", "localhost", "::1", "127.3.4.5"]) {
    expect([host, reachable(host)]).toEqual([host, []]);
  }
  expect(reachable("0.0.0.0")).toEqual(["http://192.168.1.20:3000", "http://172.17.0.1:3000"]);
  expect(reachable("::", { tls: true })).toEqual([
    "https://192.168.1.20:3000",
    "https://172.17.0.1:3000",
    "https://[fd00::2]:3000",
  ]);
  expect(reachable("fd00::2")).toEqual(["http://[fd00::2]:3000"]);
  expect(reachable("studio.lan", { port: () => 80 })).toEqual(["http://studio.lan"]);
  const public_url = "https://relay.example/x/";
  expect(reachable("127.0.0.1", { public_url })).toEqual(["https://relay.example/x"]);
  expect(reachable("127.0.0.1", { public_url: "http://localhost:3000" })).toEqual([]);
});

test("another device gets PUBLIC_URL, the address of the request, or one of the network [§1.7.4]", () => {
  const public_url = "https://relay.example/x/";
  const everywhere = create({ listen_host: "0.0.0.0" });
  const lan = requestTo("10.9.9.9:3000");
  const local = requestTo("localhost:3000");
  expect(create({ public_url }).best(lan)).toEqual({ url: "https://relay.example/x" });
  expect(everywhere.best(lan)).toEqual({ url: "http://10.9.9.9:3000" });
  expect(everywhere.best(requestTo("evil.example"))).toEqual({ url: "http://192.168.1.20:3000" });
  for (const request of [local, undefined]) {
    expect(everywhere.best(request)).toEqual({ url: "http://192.168.1.20:3000" });
    expect(create().best(request)).toEqual({ url: null, reason: expect.stringContaining("HOST=") });
  }
  const alone = create({ listen_host: "::", interfaces: () => ({}) });
  expect(alone.best(local)).toEqual({ url: null, reason: expect.stringContaining("PUBLIC_URL") });
});

test("OAuth is offered on loopback, and over https with a name", () => {
  const { offersOAuth } = create();
  for (const base of ["http://127.0.0.1:3000", "http://localhost", "https://relay.example"]) {
    expect([base, offersOAuth(base)]).toEqual([base, true]);
  }
  for (const base of ["http://192.168.1.20:3000", "http://relay.example", "https://10.0.0.1"]) {
    expect([base, offersOAuth(base)]).toEqual([base, false]);
  }
  expect([offersOAuth("https://[fd00::2]"), offersOAuth("http://[::1]:1")]).toEqual([false, true]);
});
