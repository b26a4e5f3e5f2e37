/** No glyph of the fonts at hand is much wider in a browser than Relay counts it (§14.3.8). */

import { expect } from "bun:test";
import { fitsRoom } from "../../../src/notify/core/glyphs.ts";
import { startTestApp } from "../../support/app.ts";
import { browserTests, openPage } from "../../web/browser.ts";

const webTest = browserTests();

/** Heights of the font that a character which counts as one may take. */
const MOST = 2;

/** Every assigned character, but only some of the ideographs and syllables, which are equally wide. */
function characters(): string[] {
  const found: string[] = [];
  for (let code = 0x20; code < 0x110000; code++) {
    const one = String.fromCodePoint(code);
    if (/[\p{C}\p{Z}]/u.test(one)) continue;
    if (/[\p{Ideographic}\uac00-\ud7a3]/u.test(one) && code % 64 > 0) continue;
    found.push(one);
  }
  return found;
}

const roomOf = (text: string): number => {
  let room = 1;
  while (!fitsRoom(text, room)) room++;
  return room;
};

webTest(
  "no glyph takes much more room than it counts for [§14.3.10]",
  async () => {
    const app = await startTestApp();
    const page = await openPage(app.url);
    const all = characters();
    expect(all.length).toBeGreaterThan(30_000);
    for (const family of ["sans-serif", "serif", "monospace"]) {
      const widths = await page.evaluate(
        ([texts, font]) => {
          const canvas = document.createElement("canvas").getContext("2d")!;
          canvas.font = `100px ${font}`;
          return texts.map((text) => {
            const measured = canvas.measureText(text);
            const ink = measured.actualBoundingBoxRight + measured.actualBoundingBoxLeft;
            return Math.max(measured.width, ink) / 100;
          });
        },
        [all, family] as const,
      );
      const wide = all.filter((one, at) => widths[at]! > MOST * roomOf(one));
      expect([family, wide]).toEqual([family, []]);
    }
  },
  120_000,
);
