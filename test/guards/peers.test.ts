/** Documents quote the figures beside other servers as `bun run bench:peers` measured them. */

import { expect, test } from "bun:test";
import { DOMParser } from "@xmldom/xmldom";
import { chartOf } from "../../bench/peers/chart.ts";
import {
  figuresOf,
  fileOf,
  PEERS,
  type Results,
  shown,
  tableOf,
} from "../../bench/peers/results.ts";
import { readText, sectionOf } from "../support/documents.ts";

const results: Results[] = [];
for (const peer of PEERS) results.push(await Bun.file(fileOf(peer, "json")).json());
const tables = results.map(tableOf);
const section = sectionOf(
  await readText("docs/performance.md"),
  "Beside others: `bun run bench:peers`",
);

const NAMED = /PocketBase|nchan/g;
/** A figure with its unit, also of a range: "3.8×", "0.5 ms", "2 to 3 KB". */
const FIGURE = /([\d.,]*\d)(?: to ([\d.,]*\d))? ?(×|ms|µs|KB|MB|\/s)/g;

/** The figures about a peer in the prose of a text that were not measured beside it. */
function misquotedIn(text: string): string[] {
  const prose = tables.reduce((left, table) => left.replace(table, ""), text);
  return prose.split(/\n\s*\n|\n(?=[-|#])/).flatMap((paragraph) => {
    const named = paragraph.match(NAMED) ?? [];
    const beside = results.filter(({ peer }) => named.some((name) => peer.includes(name)));
    const known = new Set(beside.flatMap((one) => [...figuresOf(one)]));
    if (named.length === 0) return [];
    return [...paragraph.matchAll(FIGURE)]
      .flatMap(([, from, to, unit]) =>
        [from, to].filter(Boolean).map((value) => `${value} ${unit}`),
      )
      .filter((figure) => !known.has(figure));
  });
}

test("docs/performance.md has the tables of the last committed runs beside others", () => {
  for (const table of tables) expect(section).toContain(table);
});

test("README and docs/performance.md quote no figure beside others that was not measured", async () => {
  for (const name of ["README.md", "docs/performance.md"]) {
    const text = await readText(name);
    expect([name, text.search(NAMED) >= 0, misquotedIn(text)]).toEqual([name, true, []]);
  }
});

test("a figure that was not measured is found, in a line, a list or a table", () => {
  const [{ measures }] = results as [Results];
  const measured = measures.creates!.ratio.median.toFixed(1);
  const line = `Relay creates ${measured}× as fast as PocketBase, and reads 987.6×.`;
  expect(misquotedIn(line)).toEqual(["987.6 ×"]);
  const rate = shown(measures.creates!.relay.rate!.median);
  expect(misquotedIn(`PocketBase: ${rate}/s in ${rate} ms`)).toEqual([`${rate} ms`]);
  const list = "- Create: 98.7× PocketBase\n- other: 1,234.5 MB\n\n| nchan | 987.6 to 987.8 ms |";
  expect(misquotedIn(list)).toEqual(["98.7 ×", "987.6 ms", "987.8 ms"]);
});

test("the charts show the committed results, on a background of their own in both colour schemes", async () => {
  for (const [i, peer] of PEERS.entries()) {
    const chart = await Bun.file(fileOf(peer, "svg")).text();
    expect(chart).toBe(chartOf(results[i]!));
    const faults: string[] = [];
    const parser = new DOMParser({ onError: (_, message) => void faults.push(message) });
    const svg = parser.parseFromString(chart, "image/svg+xml").documentElement!;
    expect([
      faults,
      svg.tagName,
      svg.getElementsByTagName("rect")[0]!.getAttribute("class"),
    ]).toEqual([[], "svg", "card"]);
    expect(chart).toContain("prefers-color-scheme: dark");
    expect(section).toContain(`](../bench/results/${peer}.svg)`);
  }
});

test("bench:peers says what is missing on the machine, leaves it out and succeeds", async () => {
  const bench = Bun.spawn([process.execPath, "bench/peers.ts"], {
    cwd: new URL("../../", import.meta.url).pathname,
    env: { PATH: "" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors] = await Promise.all(
    [bench.stdout, bench.stderr].map((stream) => new Response(stream).text()),
  );
  expect([await bench.exited, out, errors]).toEqual([
    0,
    "PocketBase is left out: go is not on the PATH\nnchan is left out: nginx is not on the PATH\n",
    "",
  ]);
});
