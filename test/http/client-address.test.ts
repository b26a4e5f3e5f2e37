/** The address of a client, from its socket or from trusted proxies. */

import { expect, test } from "bun:test";
import { createClientAddresses } from "../../src/http/client-address.ts";
import { createLog } from "../../src/log.ts";

const requestOf = (forwarded?: string) =>
  new Request("http://relay.example/", {
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  });

function createReader(trusted_hops: number, socket: string | null = "192.0.2.1") {
  const lines: string[] = [];
  const log = createLog("info", (line) => lines.push(line));
  const addresses = createClientAddresses({ trusted_hops, socketOf: () => socket });
  const watch = (request: Request) => addresses.watch({ request, log: () => log });
  return { ...addresses, watch, lines };
}

test("an IPv6 address counts by its /64, and one that maps an IPv4 address as that address", () => {
  const same = {
    "1.2.3.4": ["1.2.3.4", "::ffff:1.2.3.4", "::ffff:102:304", "::FFFF:0102:0304"],
    "2001:db8:0:1::/64": ["2001:db8:0:1::", "2001:DB8:0:1:2:3:4:5", "2001:0db8::1:0:0:0:1"],
    "2001:db8:0:0::/64": ["2001:db8::1", "2001:db8::ffff:1.2.3.4"],
    "0:0:0:0::/64": ["::", "::1"],
    "fe80:0:0:0::/64": ["fe80::1%eth0"],
    "1:2:3:4::/64": ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4"],
  };
  for (const [expected, addresses] of Object.entries(same)) {
    for (const address of addresses) {
      const known_as = createReader(0, address).of(requestOf());
      expect([address, known_as]).toEqual([address, expected]);
    }
  }
  for (const none of ["", "x", "1.2.3", "01.2.3.4", "1.2.3.4:80", "[::1]", "1::2::3", "unknown"]) {
    expect([none, createReader(0, none).of(requestOf())]).toEqual([none, "gone"]);
  }
});

test("the forwarded entry at the configured hop counts, and a client cannot forge it [§10.6.5]", () => {
  const of = (hops: number, forwarded?: string) => createReader(hops).of(requestOf(forwarded));
  expect(of(0, "203.0.113.9")).toBe("192.0.2.1");
  expect(of(1)).toBe("192.0.2.1");
  expect(of(1, "203.0.113.9")).toBe("203.0.113.9");
  expect(of(1, "198.51.100.7, 203.0.113.9")).toBe("203.0.113.9");
  expect(of(2, "10.0.0.1,198.51.100.7 ,203.0.113.9")).toBe("198.51.100.7");
  expect(of(1, "2001:db8::5")).toBe("2001:db8:0:0::/64");
  // The form that some proxies write.
  expect(of(1, "198.51.100.7:5, 203.0.113.9:4711")).toBe("203.0.113.9");
  for (const v6 of ["[2001:db8::5]", "[2001:db8::5]:4711"]) {
    expect([v6, of(1, v6)]).toEqual([v6, "2001:db8:0:0::/64"]);
  }
  // Too short, or not an address: the socket's address counts.
  expect(of(2, "203.0.113.9")).toBe("192.0.2.1");
  for (const bad of [
    "",
    ",",
    "unknown",
    "203.0.113.9:",
    "2001:db8::5:x",
    "[1.2",
    "203.0.113.9, ",
  ]) {
    expect([bad, of(1, bad)]).toEqual([bad, "192.0.2.1"]);
  }
  // Clients that have disconnected share one address.
  expect(createReader(0, null).of(requestOf())).toBe("gone");
});

test("a proxy that is not trusted is logged once as a warning", () => {
  const { watch, lines } = createReader(0);
  watch(requestOf());
  expect(lines).toEqual([]);
  for (let i = 0; i < 3; i++) watch(requestOf("203.0.113.9"));
  expect(lines).toEqual([expect.stringContaining("TRUST_PROXY")]);
  expect(lines[0]).not.toContain("203.0.113.9");
  const trusting = createReader(1);
  trusting.watch(requestOf("203.0.113.9"));
  expect(trusting.lines).toEqual([]);
});

test("a trusted proxy whose header cannot be read is logged once as a warning", () => {
  const { watch, lines } = createReader(1);
  watch(requestOf());
  watch(requestOf("203.0.113.9:80"));
  expect(lines).toEqual([]);
  for (let i = 0; i < 3; i++) watch(requestOf("203.0.113.9, secret"));
  expect(lines.length).toBe(1);
  expect(lines[0]).toContain("TRUST_PROXY");
  expect(lines[0]).not.toContain("secret");
});
