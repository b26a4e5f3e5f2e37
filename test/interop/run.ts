/**
 * `bun run interop`: tries Relay with clients that other people wrote, each in a temporary folder.
 * It needs the package registries and is no part of the tests.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Glob } from "bun";
import { CHECKS, type Client, type Context, type Result, type Surface } from "./client.ts";
import { startNewer } from "./newer.ts";
import { type Entry, hasFault, renderTable, writeTables } from "./table.ts";

const HELP = `Usage: bun run interop [--write] [--keep] [<part of a name> …]

Generates clients of the REST interface, installs clients of MCP, and tries each against a Relay of its
own on a temporary store; so do receivers of webhooks. Without names it tries all of them.

  --write  puts the tables into docs/clients.md; for a run of all clients
  --keep   leaves the temporary folder
  --help   shows this text
`;

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** Seconds until the server must listen. */
const START = 20;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      write: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const all = await readClients();
  const chosen = all.filter(
    ({ name, surface }) =>
      positionals.length === 0 ||
      positionals.some((part) => `${surface} ${name}`.toLowerCase().includes(part.toLowerCase())),
  );
  const root = await mkdtemp(join(tmpdir(), "relay-interop-"));
  const server = await startServer(root);
  const newer = startNewer(server.url);
  const entries: Entry[] = [];
  try {
    for (const [i, client] of chosen.entries()) {
      const url = client.surface === "rest" ? newer.url : server.url;
      entries.push(await runClient(client, url, join(root, `${i}`)));
    }
  } finally {
    await newer.stop();
    server.stop();
    await server.exited;
    if (values.keep) process.stderr.write(`left: ${root}\n`);
    else await rm(root, { recursive: true, force: true });
  }
  for (const surface of Object.keys(CHECKS) as Surface[]) {
    process.stdout.write(`${renderTable(surface, entries)}\n`);
  }
  if (values.write) await writeTables(entries);
  return entries.some(hasFault) ? 1 : 0;
}

/** The clients of every file of `rest/`, `mcp/` and `webhooks/`, by surface and name. */
async function readClients(): Promise<Client[]> {
  const found: Client[] = [];
  for await (const file of new Glob("{rest,mcp,webhooks}/*.ts").scan(import.meta.dir)) {
    const { clients } = (await import(`./${file}`)) as { clients: readonly Client[] };
    found.push(...clients);
  }
  const surfaces = Object.keys(CHECKS);
  const key = ({ surface, name }: Client) => `${surfaces.indexOf(surface)} ${name}`;
  return found.sort((a, b) => key(a).localeCompare(key(b)));
}

async function runClient(client: Client, url: string, dir: string): Promise<Entry> {
  const { name, surface, needs } = client;
  const missing = needs.filter((program) => Bun.which(program) === null);
  if (missing.length > 0) {
    process.stderr.write(`${surface} ${name}: skipped, no ${missing.join(", ")} on the PATH\n`);
    return { client, missing, result: null };
  }
  process.stderr.write(`${surface} ${name} …\n`);
  let result: Result;
  try {
    result = await client.run(createContext(url, dir));
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    result = { version: "", checks: { run: { fault } } };
  }
  for (const [check, outcome] of Object.entries(result.checks)) {
    if (typeof outcome === "object") process.stderr.write(`  ${check}: ${outcome.fault}\n`);
  }
  return { client, missing, result };
}

function createContext(url: string, dir: string): Context {
  return {
    url,
    dir,
    async exec(command, { cwd = ".", env = {}, seconds = 600 } = {}) {
      await Bun.write(join(dir, ".keep"), "");
      const child = Bun.spawn([...command], {
        cwd: join(dir, cwd),
        env: { ...process.env, ...env },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
        timeout: seconds * 1000,
        killSignal: "SIGKILL",
      });
      const [output, errors, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ]);
      if (code !== 0) {
        const end = `${output}\n${errors}`.trim().split("\n").slice(-15).join("\n    ");
        throw new Error(`${command.slice(0, 3).join(" ")} ended with ${code}:\n    ${end}`);
      }
      return output;
    },
    async write(path, content) {
      await Bun.write(join(dir, path), content);
    },
  };
}

/** Starts Relay as a process of its own on a store in `folder`. */
async function startServer(folder: string) {
  const child = Bun.spawn([process.execPath, MAIN], {
    // Nothing else of the environment, which may name a store.
    env: {
      PATH: process.env.PATH ?? "",
      PORT: "0",
      DATABASE_URL: `file:${join(folder, "relay.db")}`,
      RATE_LIMITS: "off",
      // Receivers of webhooks.
      OUTBOUND_PRIVATE: "127.0.0.0/8",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const late = setTimeout(() => child.kill(), START * 1000);
  let said = "";
  for await (const chunk of child.stdout) {
    said += Buffer.from(chunk).toString("utf8");
    if (said.includes("\n")) break;
  }
  clearTimeout(late);
  const [url] = /https?:\/\/[^\s/]+/.exec(said) ?? [];
  if (!url) throw new Error(`Relay did not start: ${said}`);
  return { url, stop: () => child.kill(), exited: child.exited };
}

process.exitCode = await main();
