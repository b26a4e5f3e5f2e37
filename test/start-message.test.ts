/** What the process prints once it listens: addresses, and at a terminal a QR code. */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { encode } from "uqr";
import { startMessage } from "../src/start-message.ts";
import { createTestStore } from "./support/store.ts";
import { until } from "./support/until.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

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

/** What each row of half blocks says: whether its upper and lower modules are dark. */
const BLOCKS: Record<string, readonly [boolean, boolean]> = {
  "█": [false, false],
  "▀": [false, true],
  "▄": [true, false],
  " ": [true, true],
};

/** The dark modules of a QR code in a text; empty if it has none. */
function modulesIn(text: string): boolean[][] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [start, end] = ["\u001b[38;5;231;48;5;16m", "\u001b[0m"];
    if (!line.startsWith(start) || !line.endsWith(end)) return [];
    const modules = [...line.slice(start.length, -end.length)].map((block) => BLOCKS[block]!);
    return [modules.map(([upper]) => upper), modules.map(([, lower]) => lower)];
  });
}

/** The same of a code that holds `text`; a row follows where their number is odd. */
function modulesOf(text: string): boolean[][] {
  const { data, size } = encode(text, { border: 2 });
  return size % 2 === 0 ? data : [...data, Array<boolean>(size).fill(true)];
}

test("the first line ends with the address, and a loopback address says how to reach it from a phone", () => {
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

test("other addresses are listed, and a terminal gets a QR code of the best one if it fits", () => {
  const plain = startMessage(LAN);
  expect(plain).toContain(
    "\nFrom other devices: http://192.168.1.20:3000  http://[fd00::2]:3000\n",
  );
  expect(plain).not.toContain("\u001b");
  expect(modulesIn(startMessage({ ...LAN, columns: 29 }))).toEqual(modulesOf(LAN.reachable[0]!));
  expect(startMessage({ ...LAN, columns: 28 })).toBe(plain);
  expect(modulesIn(startMessage({ ...LOOPBACK, columns: 80 }))).toEqual([]);
});

test("a start code is in the address that is named and in the QR code", () => {
  const first = { account_creation: "first", start_code: "abc" } as const;
  const best = `${LAN.reachable[0]}/#/start/abc`;
  const shown = startMessage({ ...LAN, ...first, columns: 80 });
  expect(shown).toContain(`\nNext: create the first account at ${best}\n`);
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

test("the process prints it at a terminal", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const PUBLIC_URL = "https://relay.example/under";
  let said = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([process.execPath, MAIN], {
    env: {
      ...{ PATH: process.env.PATH ?? "", PORT: "0", DATABASE_URL, PUBLIC_URL },
      ACCOUNT_CREATION: "first",
    },
    terminal: {
      cols: 80,
      data(_terminal, chunk) {
        said += decoder.decode(chunk, { stream: true });
      },
    },
  });
  const lengthOf = (code: string) => modulesOf(`${PUBLIC_URL}/#/start/${code}`).length;
  await until(() => modulesIn(said).length === lengthOf("x".repeat(22)) || child.exitCode !== null);
  child.kill("SIGKILL");
  await child.exited;
  const [start] = /https:\/\/relay\.example\/under\/#\/start\/[\w-]{22}(?=\r?\n)/.exec(said) ?? [
    "",
  ];
  expect(modulesIn(said)).toEqual(modulesOf(start));
  expect(said).toMatch(/listening at https:\/\/relay\.example\/under \(here at http:\S+\)\r?\n/);
});
