/** From an empty folder to an account, as a person does it: the real process at a terminal, and a browser. */

import { expect } from "bun:test";
import { join } from "node:path";
import { startAtTerminal } from "../support/process.ts";
import { readTerminalQr } from "../support/qr.ts";
import { tempFolder } from "../support/temp.ts";
import { browserTests, openPage, untilLive } from "./browser.ts";

const webTest = browserTests();

webTest("a person joins from the address that the start prints", async () => {
  const relay = await startAtTerminal(
    {
      HOST: "0.0.0.0",
      ACCOUNT_CREATION: "first",
      DATABASE_URL: `file:${join(tempFolder(), "relay.db")}`,
    },
    readTerminalQr,
  );
  const [, here = ""] = /create the first account at (\S+)/.exec(relay.shown()) ?? [];
  const { origin, hash } = new URL(here);
  expect(new URL(origin).hostname).toBe("127.0.0.1");
  // A phone's camera gets the same code, at an address of this machine in the network.
  const scanned = new URL(readTerminalQr(relay.shown())!);
  expect(scanned.hash).toBe(hash);
  expect(scanned.hostname).not.toBe("127.0.0.1");

  const desk = await openPage(origin, { at: hash });
  await desk.getByRole("button", { name: "Create account" }).click();
  await desk.getByRole("button", { name: "Continue" }).click();
  await untilLive(desk);
});
