/** A channel is known to its own folder, the registry and the configuration, and to nothing else. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import { CHANNELS } from "../../src/notify/channels/registry.ts";

const root = new URL("../../", import.meta.url).pathname;

async function sources() {
  const found: { file: string; text: string }[] = [];
  for (const folder of ["src", "routers", "db", "scripts"]) {
    for await (const name of new Glob("**/*.{ts,tsx}").scan(root + folder)) {
      const file = `${folder}/${name}`;
      found.push({ file, text: await Bun.file(root + file).text() });
    }
  }
  expect(found.length).toBeGreaterThan(200);
  return found;
}

/** What may name Apple or its push service beside the channel: file or folder, words, and why. */
const NAMED: readonly (readonly [path: string, words: RegExp, why: string])[] = [
  ["src/notify/channels/apns/", /apple|apns/gi, "the channel"],
  ["src/notify/channels/registry.ts", /apns/g, "its line"],
  ["src/config.ts", /apple|apns/gi, "configuration"],
  ["src/auth/", /apple/gi, "App Attest"],
  ["src/http/pages/pages.ts", /apple-touch-icon/g, "the name that browsers give it"],
  ["src/model/device.ts", /apns_(token|environment)|APNS_ENVIRONMENTS/g, "fields of the interface"],
  ["src/http/openapi/examples.ts", /apns_(token|environment)/g, "fields of the interface"],
  ["src/web/person/account.tsx", /apns_token/g, "a field of the interface"],
  ["db/devices.ts", /apns_(token|environment)/g, "columns"],
  ["db/schema.ts", /apns_(token|environment)|devices_apns/g, "columns"],
  ["db/notify/", /apns_id/g, "a column"],
];

test("only its channel, the configuration and the fields of a device name Apple", async () => {
  const used = new Set<string>();
  const wrong: string[] = [];
  for (const { file, text } of await sources()) {
    let rest = text;
    for (const [path, words] of NAMED) {
      if (!file.startsWith(path)) continue;
      const without = rest.replace(words, "");
      if (without !== rest) used.add(path);
      rest = without;
    }
    for (const [word] of rest.matchAll(/\w*(apple|apns)\w*/gi)) wrong.push(`${file}: ${word}`);
  }
  expect(wrong).toEqual([]);
  // None is allowed that nothing needs.
  expect(NAMED.map(([path]) => path).filter((path) => !used.has(path))).toEqual([]);
});

test("only the registry imports a channel, and only its own channel a push client", async () => {
  const wrong: string[] = [];
  let clients = 0;
  for (const { file, text } of await sources()) {
    for (const [, from] of text.matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)) {
      if (from === "apns2") {
        clients++;
        if (!file.startsWith("src/notify/channels/apns/")) wrong.push(`${file}: ${from}`);
      }
      if (!from!.startsWith(".")) continue;
      const target = new URL(from!, `file:///${file}`).pathname.slice(1);
      const [, folder] = /^(src\/notify\/channels\/[^/]+\/)/.exec(target) ?? [];
      const inside = folder !== undefined && file.startsWith(folder);
      if (folder && !inside && file !== "src/notify/channels/registry.ts") {
        wrong.push(`${file}: ${from}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(clients).toBeGreaterThan(0);
});

test("channels have names of their own, and a lane belongs to one of them", () => {
  const names = CHANNELS.map(({ name }) => name);
  const lanes = CHANNELS.flatMap(({ lanes }) => lanes);
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(lanes).size).toBe(lanes.length);
  // Versions before 0.2.0 send whatever is queued in these.
  for (const { name, lanes } of CHANNELS) {
    if (lanes.some((lane) => lane === "production" || lane === "sandbox"))
      expect(name).toBe("apns");
  }
});
