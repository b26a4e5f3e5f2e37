/** What the process prints once it listens: addresses, and at a terminal a QR code. */

import { expect, test } from "bun:test";
import { encode } from "uqr";
import { startMessage } from "../src/http/start-message.ts";
import { startAtTerminal } from "./support/process.ts";
import { modulesIn } from "./support/qr.ts";
import { createTestStore } from "./support/store.ts";

const LOOPBACK = {
  version: "1.2.3",
  url: "http://127.0.0.1:3000",
  local_url: "http://127.0.0.1:3000",
  reachable: [],
  unreachable_reason: "Set HOST.",
  account_creation: "open",
  start_code: null,
  columns: null,
} as const;
const LAN = {
  ...LOOPBACK,
  url: "http://0.0.0.0:3000",
  local_url: "http://0.0.0.0:3000",
  reachable: ["http://192.168.1.20:3000", "http://[fd00::2]:3000"],
  unreachable_reason: null,
};

/** The dark modules of a code that holds `text`; an odd number of rows is followed by another row. */
function modulesOf(text: string): boolean[][] {
  const { data, size } = encode(text, { border: 2 });
  return size % 2 === 0 ? data : [...data, Array<boolean>(size).fill(true)];
}

test("the first line of the start message ends with the address, and a loopback address says how a phone reaches it", () => {
  const [first, , ...more] = startMessage(LOOPBACK).trimEnd().split("\n");
  expect(first).toBe("Relay 1.2.3 is listening at http://127.0.0.1:3000");
  expect(more).toEqual(["From a phone: Set HOST."]);
  const behind = {
    ...LOOPBACK,
    url: "https://relay.example",
    reachable: ["https://relay.example"],
  };
  const shown = startMessage({ ...behind, unreachable_reason: null })
    .trimEnd()
    .split("\n");
  expect(shown[0]).toEndWith(" https://relay.example (here at http://127.0.0.1:3000)");
  expect(shown).toHaveLength(2);
});

test("the start message says that a store is new, and where it is [§11.4.7]", () => {
  const [first, second, third] = startMessage({ ...LOOPBACK, new_store: "/srv/relay.db" }).split(
    "\n",
  );
  expect(first).toBe("Relay 1.2.3 is listening at http://127.0.0.1:3000");
  expect(second).toBe("Created a new, empty store: /srv/relay.db");
  expect(third).toStartWith("Next: ");
  expect(startMessage({ ...LOOPBACK, new_store: null })).not.toContain("store");
});

test("when the process listens on all addresses, the start message begins with one that can be opened", () => {
  for (const all of ["http://0.0.0.0:3000", "http://[::]:3000"]) {
    const [first, next] = startMessage({ ...LAN, url: all, local_url: all }).split("\n");
    expect(first).toBe("Relay 1.2.3 is listening at http://127.0.0.1:3000");
    expect(next).toEndWith("curl -X POST http://127.0.0.1:3000/v1/accounts");
  }
  const behind = startMessage({ ...LAN, url: "https://relay.example" });
  expect(behind).toContain(" https://relay.example (here at http://127.0.0.1:3000)\n");
});

test("the start message lists other addresses, and at a terminal a QR code of the best one if it fits", () => {
  const plain = startMessage(LAN);
  expect(plain).toContain(
    "\nFrom other devices: http://192.168.1.20:3000  http://[fd00::2]:3000\n",
  );
  expect(plain).not.toContain("\u001b");
  expect(modulesIn(startMessage({ ...LAN, columns: 29 }))).toEqual(modulesOf(LAN.reachable[0]!));
  expect(startMessage({ ...LAN, columns: 28 })).toBe(plain);
  expect(modulesIn(startMessage({ ...LOOPBACK, columns: 80 }))).toEqual([]);
});

test("a start code is in the printed address and in the QR code", () => {
  const first = { account_creation: "first", start_code: "abc" } as const;
  const best = `${LAN.reachable[0]}/#/start/abc`;
  const shown = startMessage({ ...LAN, ...first, columns: 80 });
  const here = "http://127.0.0.1:3000/#/start/abc";
  expect(shown).toContain(`\nNext: create the first account at ${here}\n`);
  expect(shown).toContain(`\nFrom other devices: ${best}  http://[fd00::2]:3000\n`);
  const one = { ...LAN, url: LAN.reachable[0]!, local_url: LAN.reachable[0]! };
  expect(startMessage({ ...one, ...first })).toContain(
    `\nNext: create the first account at ${best}\nFrom other devices: http://[fd00::2]:3000\n`,
  );
  expect(modulesIn(shown)).toEqual(modulesOf(best));
  const local = startMessage({ ...LOOPBACK, ...first, columns: 80 });
  expect(local).toContain(
    "\nNext: create the first account at http://127.0.0.1:3000/#/start/abc\n",
  );
  for (const account_creation of ["first", "off"] as const) {
    const used = startMessage({ ...LAN, account_creation });
    expect(used).toContain("\nNext: open it in a browser\n");
  }
});

test("the process prints the start message at a terminal", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const PUBLIC_URL = "https://relay.example/under";
  const length = modulesOf(`${PUBLIC_URL}/#/start/${"x".repeat(22)}`).length;
  const relay = await startAtTerminal(
    { DATABASE_URL, PUBLIC_URL, ACCOUNT_CREATION: "first" },
    (shown) => modulesIn(shown).length === length,
  );
  const said = relay.shown();
  relay.kill();
  await relay.exited;
  const [start] = /https:\/\/relay\.example\/under\/#\/start\/[\w-]{22}(?=\r?\n)/.exec(said) ?? [
    "",
  ];
  expect(modulesIn(said)).toEqual(modulesOf(start));
  expect(said).toMatch(/listening at https:\/\/relay\.example\/under \(here at http:\S+\)\r?\n/);
});
