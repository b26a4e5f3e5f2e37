/** Draws the results of `bench:peers` as SVG: bars of the medians with the quartiles as whiskers. */

import { type Figures, type Measure, type Results, type Spread, shown } from "./results.ts";

const WIDTH = 760;
const LABELS = 248;
const VALUES = 92;
const BAR = 15;
const GAP = 16;
const TOP = 84;
const BOTTOM = 46;
const SPACE = WIDTH - LABELS - VALUES - 24;

/** The card has its own background, so that its text is legible on any page. */
const STYLE = `
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.small { font-size: 12px; fill: #57606a }
.card { fill: #ffffff; stroke: #d0d7de }
.relay { fill: #0969da }
.peer { fill: #8c959f }
.whisker { stroke: #1f2328; stroke-width: 1.5; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9198a1 }
  .card { fill: #0d1117; stroke: #3d444d }
  .relay { fill: #4493f8 }
  .peer { fill: #768390 }
  .whisker { stroke: #e6edf3 }
}
`;

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const textAt = (x: number, y: number, text: string, more = "") =>
  `<text x="${x}" y="${y}"${more}>${escaped(text)}</text>`;
const rounded = (value: number) => Number(value.toFixed(1));

/** What a group of two bars shows. */
interface Group {
  readonly label: string;
  readonly note: string;
  readonly unit: string;
  readonly relay: Spread;
  readonly peer: Spread;
}

function barOf(kind: "relay" | "peer", of: Spread, y: number, most: number, unit: string): string {
  const at = (value: number) => rounded(LABELS + (Math.min(value, most) / most) * SPACE);
  const middle = y + BAR / 2;
  const [from, to] = [at(of.q1), at(of.q3)];
  const width = rounded(at(of.median) - LABELS);
  // A quartile beyond the scale has no end mark.
  const end = of.q3 > most ? "" : `M${to} ${y + 3}v7`;
  return [
    `<rect class="${kind}" x="${LABELS}" y="${y}" width="${width}" height="${BAR - 2}" rx="2"/>`,
    `<path class="whisker" d="M${from} ${middle - 1}H${to}M${from} ${y + 3}v7${end}"/>`,
    textAt(Math.max(to, at(of.median)) + 8, y + 11, `${shown(of.median)} ${unit}`),
  ].join("\n");
}

/** How far beyond the larger median the scale reaches, so that one wide spread does not shrink the bars. */
const HEADROOM = 1.3;

function groupOf({ label, note, unit, relay, peer }: Group, y: number): string {
  const most = Math.min(
    Math.max(relay.q3, peer.q3),
    Math.max(relay.median, peer.median) * HEADROOM,
  );
  return [
    textAt(LABELS - 10, y + 11, label, ' text-anchor="end"'),
    textAt(LABELS - 10, y + BAR + 11, note, ' text-anchor="end" class="small"'),
    barOf("relay", relay, y, most, unit),
    barOf("peer", peer, y + BAR, most, unit),
  ].join("\n");
}

const SHOWN: readonly (readonly [name: string, unit: string, note: string])[] = [
  ["rate", "/s", "more is better"],
  ["p50_ms", "ms", "median latency, less is better"],
  ["kb_each", "KB", "memory of each, less is better"],
];

function groupsOf({ title, relay, peer, ratio }: Measure): Group[] {
  const has = (of: Figures) => SHOWN.filter(([name]) => of[name] !== undefined);
  // A rate says enough: the latency at a fixed number of connections follows from it.
  const figures = relay.rate ? has(relay).slice(0, 1) : has(relay);
  return figures.map(([name, unit, note]) => ({
    label: name === "kb_each" ? "" : title,
    note: name === "rate" ? `${shown(ratio.median)}×` : note,
    unit,
    relay: relay[name]!,
    peer: peer[name]!,
  }));
}

/** The chart of one run. */
export function chartOf({ peer, machine, measured_at, measures }: Results): string {
  const groups = Object.values(measures).flatMap(groupsOf);
  const step = 2 * BAR + GAP;
  const height = TOP + groups.length * step - GAP + BOTTOM;
  const title = `Relay beside ${peer}`;
  const how = `Medians of interleaved turns with quartiles. ${machine.cores} cores, ${machine.cpu}, ${measured_at.slice(0, 10)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    textAt(24, 34, title, ' class="title"'),
    `<rect class="relay" x="24" y="50" width="12" height="12" rx="2"/>`,
    textAt(42, 61, "Relay"),
    `<rect class="peer" x="100" y="50" width="12" height="12" rx="2"/>`,
    textAt(118, 61, peer),
    ...groups.map((group, i) => groupOf(group, TOP + i * step)),
    textAt(24, height - 18, how, ' class="small"'),
    "</svg>",
    "",
  ].join("\n");
}
