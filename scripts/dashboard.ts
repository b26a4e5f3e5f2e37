/** `bun run dashboard` writes docs/prometheus/relay-dashboard.json, the Grafana dashboard of the metrics. */

import { fileURLToPath } from "node:url";
import {
  type Dashboard,
  type GridPos,
  MappingType,
  type Panel,
  type RowPanel,
  type VariableModel,
} from "@grafana/schema";
import type { PanelPlan, RowPlan } from "./dashboard/queries.ts";
import { LATENCY, OVERVIEW, TRAFFIC, WAITS } from "./dashboard/request-panels.ts";
import { NOTIFICATIONS, PROCESS, STORE } from "./dashboard/service-panels.ts";

export const DASHBOARD = fileURLToPath(
  new URL("../docs/prometheus/relay-dashboard.json", import.meta.url),
);

const ROWS: readonly RowPlan[] = [
  { title: "Overview", panels: OVERVIEW },
  { title: "Traffic", panels: TRAFFIC },
  { title: "Latency", panels: LATENCY },
  { title: "Waits and streams", panels: WAITS },
  { title: "Notifications", panels: NOTIFICATIONS },
  { title: "Store", panels: STORE },
  { title: "Process", panels: PROCESS },
];

/** Columns of Grafana's grid, and the size of a chart and of a figure in it. */
const COLUMNS = 24;
const CHART = { w: 8, h: 8 } as const;
const FIGURE = { w: 4, h: 4 } as const;

/** What the person chooses at the import. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it.
const DATASOURCE = { type: "prometheus", uid: "${datasource}" } as const;

function panelOf(
  { kind, title, about, unit, words, queries }: PanelPlan,
  id: number,
  gridPos: GridPos,
): Panel {
  const mappings = words
    ? [
        {
          type: MappingType.ValueToText as const,
          options: {
            0: { text: words[0], color: "red", index: 0 },
            1: { text: words[1], color: "green", index: 1 },
          },
        },
      ]
    : [];
  const is_chart = kind !== "stat";
  return {
    ...{ id, title, description: about, gridPos, datasource: DATASOURCE },
    type: is_chart ? "timeseries" : "stat",
    targets: queries.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(is_chart ? { range: true } : { instant: true }),
    })),
    fieldConfig: {
      defaults: {
        ...{ unit, mappings },
        ...(is_chart ? { custom: { fillOpacity: 10, showPoints: "never" } } : {}),
        // A negative offset of a clock must be seen.
        ...(is_chart && unit !== "s" ? { min: 0 } : {}),
      },
      overrides: [],
    },
    options: is_chart
      ? {
          legend: { displayMode: "list", placement: "bottom", showLegend: true },
          tooltip: { mode: "multi", sort: "desc" },
        }
      : {
          reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
          ...{ colorMode: "value", graphMode: "none", textMode: "auto" },
        },
  };
}

/** The rows and their panels, each below the one before. */
function panels() {
  const all: (Panel | RowPanel)[] = [];
  let y = 0;
  for (const { title, panels } of ROWS) {
    const place = { x: 0, y, w: COLUMNS, h: 1 };
    all.push({
      type: "row",
      id: all.length + 1,
      title,
      collapsed: false,
      gridPos: place,
      panels: [],
    });
    y++;
    const { w, h } = panels.some(({ kind }) => kind === "stat") ? FIGURE : CHART;
    const in_line = COLUMNS / w;
    panels.forEach((panel, i) => {
      const at = { x: (i % in_line) * w, y: y + Math.floor(i / in_line) * h, w, h };
      all.push(panelOf(panel, all.length + 1, at));
    });
    y += Math.ceil(panels.length / in_line) * h;
  }
  return all;
}

/** A variable whose values are those of a label. */
const labelVariable = (name: string, label: string, query: string): VariableModel => ({
  ...{ type: "query", name, label, query, definition: query, datasource: DATASOURCE },
  ...{ refresh: 2, sort: 1, multi: true, includeAll: true, options: [] },
  current: { selected: true, text: ["All"], value: ["$__all"] },
});

/** The dashboard as Grafana imports it. */
export function dashboard(): string {
  const model: Dashboard = {
    title: "Relay",
    uid: "relay",
    description: "The metrics of Relay, each process and all together.",
    tags: ["relay"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    timezone: "browser",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        {
          ...{ type: "datasource", name: "datasource", label: "Data source", query: "prometheus" },
          ...{ refresh: 1, options: [] },
        },
        labelVariable("job", "Job", "label_values(relay_build_info, job)"),
        labelVariable(
          "instance",
          "Process",
          'label_values(relay_build_info{job=~"$job"}, instance)',
        ),
      ],
    },
    annotations: { list: [] },
    links: [],
    panels: panels(),
  };
  return `${JSON.stringify(model, null, 2)}\n`;
}

if (import.meta.main) await Bun.write(DASHBOARD, dashboard());
