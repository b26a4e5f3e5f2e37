/** Draws the samples of a soak as SVG: a panel for each figure, with the trend after the warm-up. */

import { FIGURES, measured, type Sample, type Trend } from "./figures.ts";

const WIDTH = 760;
const PANEL = 150;
const [LEFT, RIGHT, TOP, BOTTOM] = [72, 24, 60, 34];
/** Height of the plot in a panel. */
const PLOT = 96;

/** The card has its own background, so that its text is legible on any page. */
const STYLE = `
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.small { font-size: 12px; fill: #57606a }
.card { fill: #ffffff; stroke: #d0d7de }
.grid { stroke: #d0d7de; fill: none }
.line { stroke: #0969da; stroke-width: 1.5; fill: none }
.trend { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 4; fill: none }
.warm { fill: #57606a; opacity: 0.09 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9198a1 }
  .card { fill: #0d1117; stroke: #3d444d }
  .grid { stroke: #3d444d }
  .line { stroke: #4493f8 }
  .trend { stroke: #f85149 }
}
`;

const round = (value: number) => Number(value.toFixed(1));
const shown = (value: number) => String(Number(value.toPrecision(3)));

export interface Soak {
  readonly title: string;
  readonly note: string;
  readonly samples: readonly Sample[];
  readonly trends: Readonly<Record<string, Trend>>;
}

/** The chart of one run. */
export function chartOf({ title, note, samples, trends }: Soak): string {
  const height = TOP + FIGURES.length * PANEL + BOTTOM;
  const last = samples.at(-1)!.seconds;
  const from = measured(samples)[0]!.seconds;
  const x = (seconds: number) => round(LEFT + (seconds / last) * (WIDTH - LEFT - RIGHT));
  const panels = FIGURES.map(({ name, title: label, unit, scale }, i) => {
    const top = TOP + i * PANEL + 30;
    const values = samples.map((one) => one[name] / scale);
    const most = Math.max(...values, 1e-9) * 1.15;
    const y = (value: number) => round(top + PLOT - (value / most) * PLOT);
    const points = samples.map(({ seconds }, n) => `${x(seconds)} ${y(values[n]!)}`);
    const { median, growth, p, flat } = trends[name]!;
    const ends = [median - growth / 2, median + growth / 2].map(y);
    const said = `median ${shown(median)} ${unit}, trend ${growth < 0 ? "−" : "+"}${shown(Math.abs(growth))} ${unit}, p ${p.toFixed(3)}: ${flat ? "flat" : "not flat"}`;
    return [
      `<text x="${LEFT}" y="${top - 10}">${label}</text>`,
      `<text x="${WIDTH - RIGHT}" y="${top - 10}" text-anchor="end" class="small">${said}</text>`,
      `<path class="grid" d="M${LEFT} ${top}H${WIDTH - RIGHT}M${LEFT} ${top + PLOT}H${WIDTH - RIGHT}"/>`,
      `<rect class="warm" x="${LEFT}" y="${top}" width="${round(x(from) - LEFT)}" height="${PLOT}"/>`,
      `<text x="${LEFT - 8}" y="${top + 4}" text-anchor="end" class="small">${shown(most)} ${unit}</text>`,
      `<text x="${LEFT - 8}" y="${top + PLOT + 4}" text-anchor="end" class="small">0</text>`,
      `<path class="line" d="M${points.join("L")}"/>`,
      `<path class="trend" d="M${x(from)} ${ends[0]}L${x(last)} ${ends[1]}"/>`,
    ].join("\n");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">`,
    `<style>${STYLE}</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    `<text x="24" y="34" class="title">${title}</text>`,
    ...panels,
    `<text x="24" y="${height - 14}" class="small">${note} The shaded part is the warm-up.</text>`,
    "</svg>",
    "",
  ].join("\n");
}
