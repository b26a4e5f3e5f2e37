/** The systemd unit, the compose file and the image set variables that exist, to values that the server accepts. */

import { expect, test } from "bun:test";
import { CONFIG, readConfig, SECRETS } from "../../src/config.ts";
import { readText } from "../support/documents.ts";

/** Read by Bun itself, or by the libSQL server. */
const OTHERS: readonly string[] = ["BUN_TMPDIR"];
/** Seconds of a stop with the default drain behind a proxy, after which a supervisor may kill the process. */
const STOP_TAKES = 8;

type Settings = Record<string, string>;

/** Fails for a variable that does not exist, or for a value that would stop the start. */
function expectAccepted(settings: Settings): void {
  const names = Object.keys(settings).filter((name) => !OTHERS.includes(name));
  const secrets: readonly string[] = SECRETS.map((name) => `${name}_FILE`);
  expect(names.filter((name) => !(name in CONFIG) && !secrets.includes(name))).toEqual([]);
  const values = Object.entries(settings).filter(([name]) => name in CONFIG);
  readConfig(Object.fromEntries(values));
}

const isVariable = /^([A-Z_]+)=(\S+)$/;

test("docs/systemd/relay.service sets variables that exist, and waits for a stop", async () => {
  const unit = await readText("docs/systemd/relay.service");
  const words = [...unit.matchAll(/^#?Environment=(.+)$/gm)].flatMap(([, line]) =>
    line!.split(" "),
  );
  const settings = Object.fromEntries(words.map((word) => isVariable.exec(word)!.slice(1)));
  expectAccepted(settings);
  expect(settings).toContainKeys(["DATABASE_URL", "BACKUP_DIR", "ADMIN_TOKEN_FILE"]);
  // Each secret is a file that systemd passes on.
  const credentials = [...unit.matchAll(/^#?LoadCredential=([\w-]+):/gm)].map(
    ([, name]) => `%d/${name}`,
  );
  const files = Object.entries(settings).filter(([name]) => name.endsWith("_FILE"));
  expect(files.map(([, path]) => path)).toEqual(credentials);
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(STOP_TAKES);
  // Bun compiles while it runs.
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=yes/m);
});

test("docs/compose/compose.yaml and Dockerfile set variables that exist, and wait for a stop", async () => {
  const { services, secrets, volumes } = Bun.YAML.parse(
    await readText("docs/compose/compose.yaml"),
  ) as any;
  const { environment, ...relay } = services.relay;
  /** What `${NAME:-default}` is without a `.env`. */
  const values = Object.entries<string>(environment).map(([name, value]) => [
    name,
    value.replace(/^\$\{[A-Z_]+:-(.*)\}$/, "$1"),
  ]);
  const settings: Settings = Object.fromEntries(values);
  expectAccepted(settings);
  // Each variable of `.env` has the name of the variable that it sets.
  for (const [name, value] of Object.entries<string>(environment)) {
    const [, from = name] = /^\$\{([A-Z_]+)/.exec(value) ?? [];
    expect(from).toBe(name);
  }
  for (const [name, path] of Object.entries(settings).filter(([name]) => name.endsWith("_FILE"))) {
    const secret = path.replace("/run/secrets/", "");
    expect([name, relay.secrets.includes(secret), secret in secrets]).toEqual([name, true, true]);
  }
  expect(parseInt(relay.stop_grace_period, 10)).toBeGreaterThan(STOP_TAKES);
  const mounted = Object.values<any>(services).flatMap((service) => service.volumes ?? []);
  const named = mounted.map((mount: string) => mount.split(":")[0]!);
  expect(new Set(named)).toEqual(new Set(Object.keys(volumes)));
  // Folders that the image makes for its user are writable in a new volume.
  const image = await readText("Dockerfile");
  for (const folder of ["/data", settings.BACKUP_DIR!]) {
    expect(image).toMatch(new RegExp(`^ +&& install -d -o relay .*${folder}\\b`, "m"));
  }
  const set = [...image.matchAll(/^(?:ENV| ) *([A-Z_]+=\S+)/gm)].map(([, word]) => word!);
  expect(set.length).toBeGreaterThan(3);
  expectAccepted(Object.fromEntries(set.map((word) => isVariable.exec(word)!.slice(1))));
});
