/**
 * From an empty folder to the first answer in the browser, then on a phone, as README says it: the real process in a
 * terminal, its command line in a second one, a desktop browser on loopback, and a phone on the network over plain
 * http. The test counts what the person does and prints how long it took.
 */

import { expect } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { lanAddresses } from "../../src/http/base-address.ts";
import { codeIn, readText, runShell, sectionOf } from "../support/documents.ts";
import { printFigures } from "../support/figures.ts";
import { startAtTerminal } from "../support/process.ts";
import { readQr, readTerminalQr } from "../support/qr.ts";
import { freePort } from "../support/sqld.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";
import {
  browserTests,
  expectComplaints,
  openPage,
  openProfile,
  PHONE,
  untilLive,
  untilSteady,
} from "./browser.ts";

const webTest = browserTests();

/** Milliseconds for everything, however busy the machine. */
const DEADLINE = 300_000;

/** What a person does until the first answer at most: presses, and what they open or paste. */
const MOST_ACTIONS = 8;

const readme = await readText("README.md");
const first = sectionOf(readme, "Your first question");
const on_phone = sectionOf(readme, "On your phone");

/** The buttons and links that a part of README names, in order. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/\*\*(.+?)\*\*/gs)].map(([, word]) => word!.replace(/\s+/, " "));

/** Account tokens, keys, OAuth tokens and other credentials. */
const SECRET = /\bmc[a-z]_[\w-]{20,}/;

/** What the person does. Whatever passes from one screen to another goes through a camera or `paste`. */
function createPerson() {
  const began = performance.now();
  const pasted: string[] = [];
  let actions = 0;
  const act = <T>(work: () => Promise<T>): Promise<T> => {
    actions++;
    return work();
  };
  return {
    act,
    press: (page: Page, name: string) =>
      act(async () => {
        const button = page.getByRole("button", { name, exact: true });
        await untilSteady(button);
        await button.click();
      }),
    tap: (button: Locator) =>
      act(async () => {
        await untilSteady(button);
        await button.tap();
      }),
    paste: (text: string) =>
      act(async () => {
        pasted.push(text);
        return text;
      }),
    secrets: () => pasted.filter((text) => SECRET.test(text)).length,
    actions: () => actions,
    seconds: () => (performance.now() - began) / 1_000,
  };
}

/** A terminal beside the server's, in Relay's folder, whose user has a home of their own and a browser. */
function createTerminal(url: string) {
  const home = tempFolder();
  const bin = join(home, "bin");
  const opened = join(home, "opened");
  mkdirSync(bin);
  for (const name of ["xdg-open", "open"]) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nprintf %s "$1" > ${opened}.part\nmv ${opened}.part ${opened}\n`,
    );
    chmodSync(join(bin, name), 0o755);
  }
  const setting = [
    `export HOME=${home} XDG_CONFIG_HOME=${home} PATH=${bin}:$PATH DISPLAY=:0`,
    "unset SSH_CONNECTION SSH_TTY RELAY_KEY RELAY_URL",
    // README's own commands, with this Bun.
    `npx() { shift 2; ${process.execPath} "$@"; }`,
  ];
  return {
    run: (commands: string) => runShell([...setting, commands].join("\n"), url),
    /** The address that a command has opened in the person's browser. */
    async opened(): Promise<string> {
      await until(() => existsSync(opened));
      const address = readFileSync(opened, "utf8");
      rmSync(opened);
      return address;
    },
  };
}

webTest(
  "from a first start to an answer in at most eight actions, then on the phone, without copying a secret",
  async () => {
    // Chromium says that it ignores this header at an address that it does not trust. While Relay starts again, the
    // page cannot reach it.
    expectComplaints(/Cross-Origin-Opener-Policy header has been ignored|ERR_|Failed to load/);
    const person = createPerson();
    const { act, press, tap, paste } = person;
    const DATABASE_URL = `file:${join(tempFolder(), "relay.db")}`;

    // The first question.
    // Free for the second start too.
    const PORT = String(freePort());
    const relay = await act(() =>
      startAtTerminal({ DATABASE_URL, PORT }, (shown) => /^Next: /m.test(shown)),
    );
    const [, url = ""] = /listening at (\S+)/.exec(relay.shown()) ?? [];
    expect(new URL(url).hostname).toBe("127.0.0.1");
    const desk = await act(() => openPage(url));
    const words = wordsOf(first);
    const [approve, yes] = words.slice(-2) as [string, string];
    for (const word of words.slice(0, -2)) await press(desk, word);
    await untilLive(desk);
    const terminal = createTerminal(url);
    const [commands = ""] = codeIn(first, "sh");
    using asking = terminal.run(await paste(commands));
    const consent = await desk.context().newPage();
    await consent.goto(await terminal.opened());
    await press(consent, approve);
    await press(desk, yes);
    expect(await asking.ended).toBe(0);
    expect(asking.output()).toBe("Yes\n");
    const [actions, seconds] = [person.actions(), person.seconds()];
    expect(actions).toBeLessThanOrEqual(MOST_ACTIONS);
    expect(first.match(/^\d\. /gm)).toHaveLength(4);

    // The phone.
    const [command = "", again = ""] = codeIn(on_phone, "sh");
    const wide = await act(async () => {
      relay.kill("SIGINT");
      await relay.exited;
      const env = { ...variablesIn(command), DATABASE_URL, PORT };
      return startAtTerminal(env, readTerminalQr);
    });
    const [message = ""] = codeIn(on_phone, "text");
    // The end of the message comes after the code.
    await until(() => messageOf(wide.shown(), url) === message).catch(() => null);
    expect(messageOf(wide.shown(), url)).toBe(message);
    const [account, add, join_in, tapped] = wordsOf(on_phone.slice(on_phone.indexOf("\n1. "))) as [
      string,
      string,
      string,
      string,
    ];
    await act(() => desk.getByRole("link", { name: account }).click());
    await untilLive(desk);
    // What the section says about channels.
    await desk.getByRole("button", { name: "Add a channel" }).waitFor();
    await press(desk, add);
    const scanned = new URL(await act(() => scan(desk, "QR code that adds a device")));
    // A phone's camera reads the same address in the terminal.
    expect(scanned.origin).toBe(new URL(readTerminalQr(wide.shown())!).origin);
    const phone = await openPhone(scanned);
    await tap(phone.getByRole("button", { name: join_in }));
    await untilLive(phone);
    using asking_again = terminal.run(await paste(again));
    await tap(phone.getByRole("button", { name: tapped, exact: true }));
    expect(await asking_again.ended).toBe(0);
    expect(asking_again.output()).toBe("Yes\n");
    expect(on_phone.match(/^\d\. /gm)).toHaveLength(4);

    expect(person.secrets()).toBe(0);
    printFigures(
      `joining: first question ${actions} actions, ${seconds.toFixed(1)} s; on the phone ` +
        `${person.actions() - actions} more, ${(person.seconds() - seconds).toFixed(1)} s; 0 secrets copied`,
    );
  },
  DEADLINE,
);

/** The variables that README's command sets. */
function variablesIn(command: string): Record<string, string> {
  const [, set = ""] = /^((?:\w+=\S+ )+)npx -y bun@\S+ start$/m.exec(command) ?? [];
  return Object.fromEntries(
    [...set.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
}

/** The start message without its QR code and the log, with README's port and its address of the network. */
function messageOf(shown: string, url: string): string {
  const [best = ""] = lanAddresses(networkInterfaces());
  const lines = shown
    .split(/\r?\n/)
    .filter((line) => line !== "" && !line.startsWith("{") && !line.includes("\u001b"))
    .map((line) => line.replace(/^(From other devices: \S+).*/, "$1"));
  return `${lines
    .join("\n")
    .replaceAll(`:${new URL(url).port}`, ":3000")
    .replace(best, "192.168.1.20")}\n`;
}

/** What a camera reads from the screen. */
async function scan(page: Page, label: string): Promise<string> {
  const image = page.getByRole("img", { name: label });
  await untilSteady(image);
  return until(async () => readQr(await page.screenshot()));
}

/** A phone's browser, with a new profile. */
async function openPhone({ origin, pathname, hash }: URL): Promise<Page> {
  const context = await openProfile(origin, { size: PHONE, touch: true });
  const page = await context.newPage();
  await page.goto(origin + pathname + hash);
  return page;
}
