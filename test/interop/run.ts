/**
 * `bun run interop`: tries Relay with clients that other people wrote, each in a temporary folder.
 * It needs the package registries and is not part of the tests.
 */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Glob } from "bun";
import { createPlace } from "../../bench/place.ts";
import { within } from "../../bench/within.ts";
import { CHECKS, type Client, type Context, type Result, type Surface } from "./client.ts";
import { startNewer } from "./newer.ts";
import { startServer } from "./server.ts";
import { type Entry, hasFault, renderTable, writeTables } from "./table.ts";

/** Seconds for one client, whose installation takes most of it. */
const CLIENT = 3_600;

const HELP = `Usage: bun run interop [--write] [--keep] [<part of a name> …]

Generates clients of the REST interface, installs clients of MCP, and tries each against a Relay of its
own on a temporary store; so do receivers of webhooks. Coding agents run in a terminal against a stand-in
of their model service, and ask Relay for permission. Without names it tries all of them.

  --write  puts the tables into docs/clients.md; for a run of all clients
  --keep   leaves the temporary folder
  --long   has coding agents wait for minutes too
  --help   shows this text
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      write: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      long: { type: "boolean", default: false },
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
  const place = createPlace("relay-interop");
  const root = values.keep ? await mkdtemp(join(tmpdir(), "relay-interop-")) : place.folder;
  const server = await startServer(root);
  const newer = startNewer(server.url);
  const entries: Entry[] = [];
  try {
    for (const [i, client] of chosen.entries()) {
      const url = client.surface === "rest" ? newer.url : server.url;
      entries.push(await runClient(client, createContext(url, join(root, `${i}`), values.long)));
    }
  } finally {
    await newer.stop();
    server.stop("SIGKILL");
    await server.exited;
    if (values.keep) process.stderr.write(`left: ${root}\n`);
    await place.end();
  }
  for (const surface of Object.keys(CHECKS) as Surface[]) {
    process.stdout.write(`${renderTable(surface, entries)}\n`);
  }
  if (values.write) await writeTables(entries);
  return entries.some(hasFault) ? 1 : 0;
}

/** The clients of every file of `rest/`, `mcp/`, `webhooks/` and `prompts/`, by surface and name. */
async function readClients(): Promise<Client[]> {
  const found: Client[] = [];
  for await (const file of new Glob("{rest,mcp,webhooks,prompts}/*.ts").scan(import.meta.dir)) {
    const { clients } = (await import(`./${file}`)) as { clients: readonly Client[] };
    found.push(...clients);
  }
  const surfaces = Object.keys(CHECKS);
  const key = ({ surface, name }: Client) => `${surfaces.indexOf(surface)} ${name}`;
  return found.sort((a, b) => key(a).localeCompare(key(b)));
}

async function runClient(client: Client, context: Context): Promise<Entry> {
  const { name, surface, needs } = client;
  const missing = needs.filter((program) => Bun.which(program) === null);
  if (missing.length > 0) {
    process.stderr.write(`${surface} ${name}: skipped, no ${missing.join(", ")} on the PATH\n`);
    return { client, missing, result: null };
  }
  process.stderr.write(`${surface} ${name} …\n`);
  let result: Result;
  try {
    result = await within(CLIENT, `${surface} ${name}`, client.run(context));
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    result = { version: "", checks: { run: { fault } } };
  }
  for (const [check, outcome] of Object.entries(result.checks)) {
    if (typeof outcome === "object") process.stderr.write(`  ${check}: ${outcome.fault}\n`);
  }
  return { client, missing, result };
}

function createContext(url: string, dir: string, long: boolean): Context {
  return {
    url,
    dir,
    long,
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

process.exitCode = await main();
