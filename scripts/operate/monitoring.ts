/**
 * Starts Prometheus with the configuration of docs/operating/watching.md beside a Relay with some traffic: it must read the
 * metrics with the admin token, evaluate every alert, and answer every query of the dashboard. Then Relay is killed, and
 * the alert about that must be pending.
 */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { post, startRelay, stopAll, times } from "../../bench/process.ts";
import { codeIn, readText, sectionOf } from "../../test/support/documents.ts";
import { freePort } from "../../test/support/sqld.ts";

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const TOKEN = "an-admin-token-of-34-characters-ok";
/** The address in the document. */
const TARGET = "127.0.0.1:3000";
/** Seconds until Prometheus must have evaluated everything. */
const WITHIN = 60;
/** Milliseconds for apt. */
const APT_WITHIN = 120_000;
/** Milliseconds for promtool, and for an answer of Prometheus. */
const CHECK_WITHIN = 60_000;
const ANSWER = 10_000;

/** The folder of `prometheus` and `promtool`: installed, or unpacked from Debian's package. Null if neither is possible. */
async function findPrometheus(folder: string): Promise<string | null> {
  const installed = Bun.which("prometheus");
  if (installed && Bun.which("promtool")) return join(installed, "..");
  if (!Bun.which("apt-get")) return null;
  const script = "apt-get download prometheus && dpkg -x prometheus_*.deb .";
  const child = Bun.spawn(["sh", "-c", script], {
    ...{ cwd: folder, stdio: ["ignore", "ignore", "ignore"], timeout: APT_WITHIN },
  });
  return (await child.exited) === 0 ? join(folder, "usr/bin") : null;
}

interface RuleState {
  readonly name: string;
  readonly health: string;
  readonly state: string;
  readonly lastError?: string;
}

/** An answer of the HTTP interface of Prometheus. */
interface Answer<Data> {
  readonly status: string;
  readonly error?: string;
  readonly data: Data;
}

/** Runs it. Returns false if something does not work; true also if Prometheus is not to be had. */
export async function monitoring(print: (line: string) => void): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "relay-monitoring-"));
  const children: Bun.Subprocess[] = [];
  const say = (line: string) => print(`monitoring: ${line}`);
  try {
    const bin = await findPrometheus(folder);
    if (bin === null) {
      say("not tried, since Prometheus is neither installed nor to be had");
      return true;
    }
    const relay = await startRelay(folder, children, { env: { ADMIN_TOKEN: TOKEN } });
    const { token } = await post<{ token: string }>(relay.port, "/v1/accounts", {});
    const { secret } = await post<{ secret: string }>(
      relay.port,
      "/v1/keys",
      { label: "A" },
      token,
    );
    await Promise.all(
      times(20, () => post(relay.port, "/v1/tasks", { title: "Monitored" }, secret)),
    );

    const section = sectionOf(await readText("docs/operating/watching.md"), "Metrics");
    const [recipe] = codeIn(section, "yaml") as [string];
    const place = join(folder, "prometheus");
    mkdirSync(place);
    writeFileSync(join(place, "admin-token"), TOKEN);
    copyFileSync(fileOf("docs/prometheus/alerts.yml"), join(place, "alerts.yml"));
    const config = join(place, "prometheus.yml");
    writeFileSync(
      config,
      `global: { evaluation_interval: 1s }\n${recipe
        .replace(TARGET, `127.0.0.1:${relay.port}`)
        .replace("scrape_interval: 30s", "scrape_interval: 1s")}`,
    );
    const checks = [
      ["check", "config", config],
      ["test", "rules", fileOf("test/guards/alerts.promtool.yml")],
    ];
    for (const args of checks) {
      const checked = Bun.spawnSync([join(bin, "promtool"), ...args], { timeout: CHECK_WITHIN });
      if (checked.exitCode === 0) continue;
      say(`promtool ${args[0]} failed: ${checked.stderr}${checked.stdout}`);
      return false;
    }

    const port = freePort();
    children.push(
      Bun.spawn(
        [
          join(bin, "prometheus"),
          `--config.file=${config}`,
          `--storage.tsdb.path=${join(place, "data")}`,
          `--web.listen-address=127.0.0.1:${port}`,
          "--log.level=error",
        ],
        { cwd: place, stdio: ["ignore", "ignore", "inherit"] },
      ),
    );
    const ask = async <Data>(path: string): Promise<Answer<Data>> =>
      (
        await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
          signal: AbortSignal.timeout(ANSWER),
        })
      ).json() as Promise<Answer<Data>>;
    const until = async (is: () => Promise<boolean>): Promise<boolean> => {
      for (const end = performance.now() + WITHIN * 1000; performance.now() < end; ) {
        if (await is().catch(() => false)) return true;
        await Bun.sleep(250);
      }
      return false;
    };
    const rules = async (): Promise<RuleState[]> =>
      (await ask<{ groups: { rules: RuleState[] }[] }>("rules")).data.groups.flatMap(
        (group) => group.rules,
      );

    const scraped = await until(async () => {
      const { data } = await ask<{ activeTargets: { health: string }[] }>("targets");
      return data.activeTargets[0]!.health === "up";
    });
    if (!scraped) {
      say("Prometheus did not read the metrics");
      return false;
    }
    // Rates need several scrapes.
    await Bun.sleep(10_000);
    const evaluated = await until(async () =>
      (await rules()).every(({ health }) => health === "ok"),
    );
    const all = await rules();
    const active = all.filter(({ state }) => state !== "inactive");
    say(
      `${all.length} alerts evaluated; of a healthy Relay, ${active.length} are pending or firing`,
    );
    for (const { name, lastError } of all.filter(({ health }) => health !== "ok")) {
      say(`${name}: ${lastError}`);
    }
    for (const { name } of active) say(`active: ${name}`);

    const { panels } = JSON.parse(await readText("docs/prometheus/relay-dashboard.json")) as {
      panels: { title: string; targets?: { expr: string }[] }[];
    };
    const queries = panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => [title, expr] as const),
    );
    const failed: string[] = [];
    const empty = new Set<string>();
    for (const [title, expr] of queries) {
      const query = expr
        .replaceAll("$__rate_interval", "10s")
        .replaceAll(/\$(job|instance)/g, ".*");
      const { status, error, data } = await ask<{ result: object[] }>(
        `query?query=${encodeURIComponent(query)}`,
      );
      if (status !== "success") failed.push(`${title}: ${error}`);
      else if (data.result.length === 0) empty.add(title);
    }
    say(
      `${queries.length} queries of the dashboard answered, ${failed.length} failed; without a value here: ${[...empty].join(", ") || "none"}`,
    );
    for (const line of failed) say(line);

    const child = children.find(({ pid }) => pid === relay.pid)!;
    child.kill("SIGKILL");
    await child.exited;
    const noticed = await until(async () =>
      (await rules()).some(({ name, state }) => name === "RelayDown" && state === "pending"),
    );
    say(`RelayDown ${noticed ? "is pending" : "is not pending"} after Relay was killed`);
    say("not tried: the dashboard in Grafana, which no package registry has");
    return evaluated && active.length === 0 && failed.length === 0 && noticed;
  } finally {
    await stopAll(children, folder);
    rmSync(folder, { recursive: true, force: true });
  }
}
