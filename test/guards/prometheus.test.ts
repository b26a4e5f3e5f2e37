/** docs/prometheus against the metrics of real servers: alerts, dashboard, and what they leave out. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { Glob } from "bun";
import { z } from "zod";
import { ADMIN, ADMIN_TOKEN } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { anchorsOf, codeIn, readText, sectionOf } from "../support/documents.ts";
import { type Exposition, readExposition } from "../support/exposition.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { createRepliesPerson } from "../support/replies.ts";
import { tempFolder } from "../support/temp.ts";
import { createAuthority } from "../support/tls.ts";

const root = new URL("../../", import.meta.url).pathname;
const ALERTS = "docs/prometheus/alerts.yml";
const DASHBOARD = "docs/prometheus/relay-dashboard.json";
const ALERT_TESTS = "test/guards/alerts.promtool.yml";

/** Metrics that no panel shows, with the reason. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  process_cpu_user_seconds_total: "The chart has the total and the part of the system.",
};

/** Labels that Prometheus gives each series of a target; those of the same name become `exported_<name>`. */
const TARGET_LABELS = ["job", "instance"];
/** A collector that is away. */
const TRACED = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
/** Series of Prometheus itself. */
const OWN_SERIES = new Map([["up", new Map()]]);

const Rules = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Relay[A-Z]\w+$/),
          expr: z.string(),
          for: z.string().regex(/^\d+[mh]$/),
          labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
          annotations: z.strictObject({
            summary: z.string().min(20),
            description: z.string().min(40),
            runbook: z.string(),
          }),
        }),
      ),
    }),
  ),
});

const { groups } = Rules.parse(Bun.YAML.parse(await readText(ALERTS)));
const rules = groups.flatMap((group) => group.rules);
const model = JSON.parse(await readText(DASHBOARD));
const panels: any[] = model.panels.filter(({ type }: any) => type !== "row");
const queries: string[] = panels.flatMap(({ targets }) => targets.map(({ expr }: any) => expr));

async function scrape(url: string, tls?: object): Promise<{ text: string; all: Exposition }> {
  const init = { headers: { authorization: `Bearer ${ADMIN_TOKEN}` }, tls } as RequestInit;
  const text = await (await fetch(`${url}/metrics`, init)).text();
  return { text, all: readExposition(text) };
}

/** A server with traffic, an answer by a channel, and a wait; and one with TLS, another clock, jobs and backups. */
async function scrapeServers() {
  const busy = await startTestApp({ env: ADMIN });
  const ntfy = await startNtfy();
  const { agent, ...people } = await createRepliesPerson(busy.local_url, ntfy);
  const { id, sent } = await people.ask();
  await tap(sent, "Yes");
  await people.ended(id);
  await agent.send(`GET /v1/questions/${id}?wait=1`);

  const authority = await createAuthority();
  const { cert, key } = await authority.issue();
  const folder = tempFolder();
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await Promise.all([Bun.write(TLS_CERT_FILE, cert), Bun.write(TLS_KEY_FILE, key)]);
  const clock = createTestClock();
  const secure = await startTestApp({
    clock,
    env: { ...ADMIN, TLS_CERT_FILE, TLS_KEY_FILE, BACKUP_DIR: folder, ...TRACED },
    storeTime: async () => clock.now() - 3,
  });
  await clock.advance(5);
  await Promise.all([secure.jobs.settled(), secure.backups.settled()]);
  return Promise.all([scrape(busy.local_url), scrape(secure.local_url, { ca: authority.ca })]);
}

const scraped = await scrapeServers();

/** Each series name of Prometheus -> its labels -> the values that were seen. */
const known = new Map<string, Map<string, Set<string>>>(OWN_SERIES);
const families = new Set<string>();
for (const { all } of scraped) {
  for (const [family, { series }] of all) {
    families.add(family);
    for (const { name, labels } of series) {
      const seen = known.get(name) ?? new Map<string, Set<string>>();
      known.set(name, seen);
      for (const [label, value] of Object.entries(labels)) {
        const stored = TARGET_LABELS.includes(label) ? `exported_${label}` : label;
        seen.set(stored, (seen.get(stored) ?? new Set()).add(value));
      }
    }
  }
}
const familyOf = (name: string): string | undefined =>
  [name, name.replace(/_(bucket|sum|count)$/, "")].find((one) => families.has(one));

/** A query of the dashboard as Prometheus gets it: Grafana replaces this variable. */
const asSent = (expr: string) => expr.replaceAll("$__rate_interval", "5m");

/** What an expression selects and groups by, and faults of its syntax. */
function readExpression(expr: string) {
  const text = asSent(expr);
  const selected: { name: string; matchers: { label: string; is: string; value: string }[] }[] = [];
  const grouped: string[] = [];
  const faults: string[] = [];
  parser.parse(text).iterate({
    enter(node) {
      const textOf = (from: { from: number; to: number }) => text.slice(from.from, from.to);
      if (node.type.isError) faults.push(`syntax at ${node.from}`);
      if (node.name === "VectorSelector") {
        const name = node.node.getChild("Identifier");
        selected.push({ name: name ? textOf(name) : "", matchers: [] });
      }
      if (node.name === "UnquotedLabelMatcher") {
        const [label, is, value] = ["LabelName", "MatchOp", "StringLiteral"].map((part) =>
          textOf(node.node.getChild(part)!),
        ) as [string, string, string];
        selected.at(-1)!.matchers.push({ label, is, value: JSON.parse(value) });
      }
      if (node.name === "GroupingLabels") {
        grouped.push(...node.node.getChildren("LabelName").map(textOf));
      }
    },
  });
  return { selected, grouped, faults };
}

/** What is wrong with an expression. `shown`: labels that a text beside it names. */
function faultsOf(expr: string, shown: readonly string[] = []): string[] {
  const { selected, grouped, faults } = readExpression(expr);
  if (selected.length === 0) faults.push("selects nothing");
  const labels = new Set(TARGET_LABELS);
  for (const { name, matchers } of selected) {
    const own = known.get(name);
    if (!own) {
      faults.push(`no metric ${name}`);
      continue;
    }
    for (const label of own.keys()) labels.add(label);
    if (!matchers.some(({ label }) => label === "job")) faults.push(`${name} of any job`);
    for (const { label, is, value } of matchers) {
      if (TARGET_LABELS.includes(label)) continue;
      const values = own.get(label);
      if (!values) faults.push(`${name} has no label ${label}`);
      else if (is === "=" && !values.has(value)) faults.push(`${name} has no ${label}="${value}"`);
    }
  }
  faults.push(
    ...[...grouped, ...shown].filter((one) => !labels.has(one)).map((one) => `label ${one}`),
  );
  return faults;
}

const labelsIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, one]) => one!);

test("every alert reads metrics and labels that exist, and says what to do and where to read more", async () => {
  const sections = new Set<string>();
  for (const file of [...new Glob("docs/operating/*.md").scanSync(root), "docs/notifications.md"]) {
    for (const anchor of anchorsOf(await readText(file))) sections.add(`${file}#${anchor}`);
  }
  const wrong = rules.flatMap(({ alert, expr, annotations: { summary, description, runbook } }) => {
    const shown = labelsIn(summary + description, /\$labels\.(\w+)/g);
    return [...faultsOf(expr, shown), ...(sections.has(runbook) ? [] : [`no ${runbook}`])].map(
      (fault) => `${alert}: ${fault}`,
    );
  });
  expect(wrong).toEqual([]);
  const names = rules.map(({ alert }) => alert);
  expect(names).toEqual([...new Set(names)]);
  const section = sectionOf(await readText("docs/operating/watching.md"), "Alerts");
  const listed = labelsIn(section, /`(Relay[A-Z]\w+)`/g);
  expect([...new Set(listed)].sort()).toEqual(names.sort());
});

test("every panel reads metrics and labels that exist, and every metric is in a panel or left out on purpose", () => {
  const wrong = panels.flatMap(({ title, targets }) =>
    targets.flatMap(({ expr, legendFormat }: any) =>
      faultsOf(expr, labelsIn(legendFormat, /\{\{(\w+)\}\}/g)).map((fault) => `${title}: ${fault}`),
    ),
  );
  expect(wrong).toEqual([]);
  const read = new Set(
    queries.flatMap((expr) => readExpression(expr).selected.map(({ name }) => familyOf(name))),
  );
  const missing = [...families].filter((name) => !read.has(name));
  expect(missing.sort(), `add a panel to ${DASHBOARD}, or a reason to LEFT_OUT`).toEqual(
    Object.keys(LEFT_OUT).sort(),
  );
});

test("panels of the dashboard have their own id, title and place, and ask the chosen data source", () => {
  const ids = model.panels.map(({ id }: any) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const cells = model.panels.flatMap(({ gridPos: { x, y, w, h } }: any) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  const titles = panels.map(({ title }) => title);
  expect(titles).toEqual([...new Set(titles)]);
  const sources = panels.flatMap(({ datasource, targets }) =>
    [datasource, ...targets.map((target: any) => target.datasource)].map(({ uid }) => uid),
  );
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana replaces it.
  expect([...new Set(sources)]).toEqual(["${datasource}"]);
});

test("docs/operating/watching.md has a scrape configuration with the job and the credential that the alerts and /metrics expect", async () => {
  const section = sectionOf(await readText("docs/operating/watching.md"), "Metrics");
  const [config] = codeIn(section, "yaml").map((text) => Bun.YAML.parse(text) as any);
  expect(config).toMatchObject({
    scrape_configs: [
      { job_name: "relay", authorization: { credentials_file: expect.any(String) } },
    ],
    rule_files: [expect.stringMatching(/alerts\.yml$/)],
  });
});

test.if(Bun.which("promtool") !== null)(
  "promtool accepts the alerts and the queries of the dashboard, the tests of the alerts pass, and the metrics keep the naming rules",
  async () => {
    const run = async (args: readonly string[], input = "") => {
      const child = Bun.spawn(["promtool", ...args], {
        ...{ cwd: root, stdin: new Blob([input]), stdout: "pipe", stderr: "pipe" },
      });
      const told = await Promise.all([child.stdout.text(), child.stderr.text()]);
      return [await child.exited, told.join("")] as const;
    };
    const recorded = join(tempFolder(), "queries.json");
    const as_rules = queries.map((expr, i) => ({ record: `query_${i}`, expr: asSent(expr) }));
    await Bun.write(recorded, JSON.stringify({ groups: [{ name: "queries", rules: as_rules }] }));
    const [checked, tested, ...linted] = await Promise.all([
      run(["check", "rules", ALERTS, recorded]),
      run(["test", "rules", ALERT_TESTS]),
      ...scraped.map(({ text }) => run(["check", "metrics"], text)),
    ]);
    expect(checked![0], checked![1]).toBe(0);
    expect(tested![0], tested![1]).toBe(0);
    // Names that exist longer than this test are not changed.
    const known_faults = /nodejs_eventloop_lag_\w+|relay_store_commit_batches/;
    const faults = linted.flatMap(([, told]) => told.split("\n").filter((line) => line !== ""));
    expect(faults.filter((line) => !known_faults.test(line))).toEqual([]);
  },
);

test("every alert has a test in which it fires", async () => {
  const told = await readText(ALERT_TESTS);
  const untested = rules.filter(
    ({ alert }) =>
      !told.includes(`alertname="${alert}"`) &&
      !new RegExp(`alertname: ${alert}\\n\\s+exp_alerts:\\n`).test(told),
  );
  expect(untested.map(({ alert }) => alert)).toEqual([]);
});
