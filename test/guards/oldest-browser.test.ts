/** Browsers load no syntax, function or style that the oldest supported one lacks. */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { SCRIPT } from "../../src/http/openapi/docs-page.ts";
import { readAdmin, readSources } from "../../src/http/pages/sources.ts";
import { newerIn, newerStylesIn } from "../support/oldest-browser.ts";

const read = (path: string) => Bun.file(fileURLToPath(import.meta.resolve(path))).text();

const [{ person, worker }, admin] = await Promise.all([readSources(), readAdmin()]);
const files = new Map<string, string>([
  ["sw.js", worker],
  ["docs.js", SCRIPT],
  ["swagger-ui.js", await read("swagger-ui-dist/swagger-ui-bundle.js")],
]);
for (const { name, content } of [...person.assets, ...admin.assets]) {
  if (typeof content === "string") files.set(name, content);
}

/** Declarations that make no difference to what people can read and do. */
const UNNEEDED = [
  // Fields grow with their text; without it they scroll.
  ...["field-sizing", "field-sizing: content"],
  ...["text-wrap", "text-wrap: balance"],
  ...["contain-intrinsic-size", "text-decoration: dotted"],
  // iOS has no pointer, no corner to drag and no forced colours.
  ...["cursor: crosshair", "cursor: not-allowed", "cursor: pointer"],
  ...["resize", "resize: none", "resize: vertical"],
  ...["forced-color-adjust", "forced-color-adjust: none"],
  // Used beside `-webkit-user-select`.
  "user-select",
];

test("the scripts of the pages and the service worker run in Safari 16.4", () => {
  const found = [...files].filter(([name]) => name.endsWith(".js"));
  expect(found.length).toBeGreaterThan(20);
  for (const [name, script] of found) expect([name, newerIn(script)]).toEqual([name, []]);
  // Swagger UI takes seconds.
}, 300_000);

test("the styles of the pages need nothing that Safari 16.4 lacks", () => {
  const found = [...files].filter(([name]) => name.endsWith(".css"));
  for (const [, sheet] of found) {
    expect(newerStylesIn(sheet).filter((one) => !UNNEEDED.includes(one))).toEqual([]);
  }
  expect(found.length).toBeGreaterThan(0);
});

test("the Safari 16.4 check finds newer syntax, functions and styles", () => {
  expect(newerIn("/[a--b]/v")).toHaveLength(1);
  expect(newerIn("using a = b()")).toHaveLength(1);
  expect(newerIn("Promise.withResolvers(), URL.parse(a), new CookieStore()")).toEqual([
    ...["CookieStore", "Promise.withResolvers", "URL.parse"],
  ]);
  expect(newerIn("URL.parse?.(a); Notification.maxActions ?? 0; class A { static {} }")).toEqual(
    [],
  );
  const sheet =
    "a { color: light-dark(red, blue); &:hover { margin: 0 } } a:popover-open { top: 0 }";
  expect(newerStylesIn(sheet)).toEqual(["&", ":popover-open", "light-dark()"]);
});
