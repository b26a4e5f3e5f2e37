/** Only its own folder, the registry and the configuration know a channel by its name or lanes. */

import { expect, test } from "bun:test";
import { Glob } from "bun";
import type { Channel } from "../../src/notify/core/channel.ts";
import { CHANNELS } from "../../src/notify/registry.ts";

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

type Named = Pick<Channel, "name" | "lanes">;

/** Other names of a channel. */
const ALIASES: Readonly<Record<string, readonly string[]>> = { apns: ["apple"] };

/** What names a channel: its name in any notation, and its lanes as whole strings in quotes. */
function wordsOf({ name, lanes }: Named): RegExp {
  const names = [name, ...(ALIASES[name] ?? [])].map((word) => word.replace(/\W/g, "[-_]?"));
  // Lanes may be common words, such as `production`.
  const strings = `(?<=["'\`])(?:${lanes.join("|")})(?=["'\`])`;
  // Names in any case, lanes as they are written.
  return new RegExp(`\\w*(?i:${names.join("|")})\\w*|${strings}`, "g");
}

/** Where a channel may be named. Migrations are not TypeScript, and are not searched. */
const placesOf = ({ name }: Named): readonly string[] => [
  `src/notify/${name.replaceAll("_", "-")}/`,
  "src/notify/registry.ts",
  "src/config.ts",
];

/** Each mention of a channel outside its places. */
const mentions = (channels: readonly Named[], file: string, text: string): string[] =>
  channels
    .filter((channel) => !placesOf(channel).some((place) => file.startsWith(place)))
    .flatMap((channel) => text.match(wordsOf(channel)) ?? []);

/** Where else Apple, its push service or one of its lanes may be named: file or folder, words, and why. */
const NAMED: readonly (readonly [path: string, words: RegExp, why: string])[] = [
  ["src/auth/", /apple/gi, "App Attest"],
  ["src/notify/web-push/", /[Aa]pple/g, "a push service of browsers"],
  ["src/http/pages/bundle.ts", /'"production"'/g, "NODE_ENV"],
  ["scripts/build/compile.ts", /'"production"'/g, "NODE_ENV"],
  ["src/http/pages/pages.ts", /apple-touch-icon/g, "the name that browsers give it"],
  ["src/model/device.ts", /apns_(token|environment)|APNS_ENVIRONMENTS/g, "fields of the interface"],
  ["src/model/device.ts", /"(production|sandbox)"/g, "values of a field of the interface"],
  [
    "src/http/openapi/examples.ts",
    /"production"|"apns"|apns_(token|environment)/g,
    "fields and values of the interface",
  ],
  ["src/web/person/account/account.tsx", /apns_token/g, "a field of the interface"],
  ["scripts/screenshots.ts", /ntfy|telegram/gi, "pictures of their forms"],
  ["src/web/person/account/reach-line.tsx", /apns_token/g, "a field of the interface"],
  ["src/model/channel.ts", /(["`])ntfy\1|for ntfy only/g, "a value of a field of the interface"],
  ["src/model/channel.ts", /(["`])telegram\1/g, "a value of a field of the interface"],
  ["src/http/openapi/examples.ts", /"telegram"/g, "a value of a field of the interface"],
  [
    "src/web/person/account/channels/",
    /\b(ntfy|web_push|telegram|Telegram)\b|\b(Ntfy|Telegram)(Way|Form)\b|apps\.apple\b/g,
    "the forms that add one",
  ],
  ["src/web/state/push.ts", /"web_push"/g, "the channel of this browser"],
  ["src/model/channel.ts", /(["`])web_push\1/g, "a value of a field of the interface"],
  ["src/model/push-message.ts", /\bweb_push\b/g, "a member of Declarative Web Push"],
  ["db/devices.ts", /apns_(token|environment)/g, "columns"],
  ["db/devices.ts", /Apple Watch/g, "a product"],
  ["db/schema.ts", /apns_(token|environment)|devices_apns/g, "columns"],
];

test("only a channel's own folder, the registry, the configuration and old fields name the channel", async () => {
  const used = new Set<(typeof NAMED)[number]>();
  const wrong: string[] = [];
  for (const { file, text } of await sources()) {
    let rest = text;
    for (const row of NAMED) {
      const [path, words] = row;
      if (!file.startsWith(path)) continue;
      const without = rest.replace(words, "");
      if (without !== rest) used.add(row);
      rest = without;
    }
    for (const word of mentions(CHANNELS, file, rest)) wrong.push(`${file}: ${word}`);
  }
  expect(wrong).toEqual([]);
  // No exception is allowed that nothing needs.
  expect(NAMED.filter((row) => !used.has(row)).map(String)).toEqual([]);
});

test("the guard finds a channel by its name and its lanes wherever it may not be named", () => {
  const pager = { name: "web-pager", lanes: ["day", "night"] };
  const found = (file: string, text: string) => mentions([pager], file, text);
  const text = `const WEB_PAGER_URL = webPager("day", 'night', "daylight", 'nightly', "Day", day);`;
  expect(found("src/notify/core/plan.ts", text)).toEqual([
    "WEB_PAGER_URL",
    "webPager",
    "day",
    "night",
  ]);
  expect(found("src/notify/web-pager/channel.ts", text)).toEqual([]);
  expect(found("src/notify/apns/channel.ts", "'day'")).toEqual(["day"]);
  expect(found("src/config.ts", text)).toEqual([]);
});

test("only the registry imports a channel, and only the channel imports its push client", async () => {
  const wrong: string[] = [];
  const folders = CHANNELS.map((channel) => placesOf(channel)[0]!);
  let clients = 0;
  for (const { file, text } of await sources()) {
    for (const [, from] of text.matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)) {
      if (from === "apns2") {
        clients++;
        if (!file.startsWith("src/notify/apns/")) wrong.push(`${file}: ${from}`);
      }
      if (!from!.startsWith(".")) continue;
      const target = new URL(from!, `file:///${file}`).pathname.slice(1);
      const folder = folders.find((one) => target.startsWith(one));
      if (folder && !file.startsWith(folder) && file !== "src/notify/registry.ts") {
        wrong.push(`${file}: ${from}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(clients).toBeGreaterThan(0);
});

test("channels have unique names, and a lane belongs to one channel", () => {
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
