/** The commands of README and docs/clients.md work as written. */

import { expect, test } from "bun:test";
import { procedures } from "../../routers/index.ts";
import { mcpOnlyProcedures } from "../../routers/mcp-only.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPair } from "../support/client.ts";
import { ADDRESS, codeIn, readText, runShell, sectionOf } from "../support/documents.ts";
import { until } from "../support/until.ts";

const readme = await readText("README.md");
const clients = await readText("docs/clients.md");

// With a browser: test/web/first-question.test.ts, and test/web/joining.test.ts for the first question.
test.if(Bun.which("curl") !== null)(
  "README's tour works without a browser",
  async () => {
    // The test looks for questions more often than the rate limit permits.
    const app = await startTestApp({ env: { RATE_LIMITS: "off" } });
    const [ask = "", create = "", tour = ""] = codeIn(sectionOf(readme, "A tour with curl"), "sh");
    const [exported, ...question] = ask.split("\n");
    expect(exported).toStartWith("export RELAY_KEY=mck_");
    using shell = runShell([create, ...question, tour].join("\n"), app.url);
    const [token] = await until(() => /mca_[\w-]{43}/.exec(shell.output()));
    const send = client(app.url, token);
    for (const answer of ["Yes", "Staging"]) {
      const { id } = await until(async () => {
        const { body } = await send("GET /v1/questions");
        return body.questions.find(({ options }: { options: string[] }) =>
          options.includes(answer),
        );
      });
      expect((await send(`POST /v1/questions/${id}/answer`, { answer })).status).toBe(200);
    }
    expect(await shell.ended).toBe(0);
    for (const part of [
      '"answer":"Yes"',
      '"progress":60',
      '"answer":"Staging"',
      '"type":"question.answered"',
      '"status":"done"',
    ]) {
      expect(shell.output()).toContain(part);
    }
  },
  300_000,
);

test("README's relay command prints what relay prints, and nothing about the script", () => {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "relay", "say"], {
    cwd: new URL("../../", import.meta.url).pathname,
  });
  expect([exitCode, stdout.toString()]).toEqual([3, ""]);
  // On a busy machine Bun takes the disk for a network drive.
  const said = stderr.toString().replace(/^.*Slow filesystem detected.*\n/m, "");
  expect(said).toMatch(/^relay: [^\n]+\n$/);
});

/** The address and header that a command gives its client, as the shell reads the line. */
async function settingsOf(command: string, key: string) {
  const [name] = command.split(" ");
  const line = `${name}() { printf '%s\\n' "$@"; }\nexport RELAY_KEY=${key}\n${command}`;
  using shell = runShell(line, ADDRESS);
  expect(await shell.ended).toBe(0);
  const words = shell.output().trim().split("\n");
  const after = (word: string) => words[words.indexOf(word) + 1]!;
  const by_variable = words.includes("--bearer-token-env-var");
  if (by_variable) expect(after("--bearer-token-env-var")).toBe("RELAY_KEY");
  const header = words.find((word) => word.startsWith("Authorization: "));
  const authorization = by_variable ? `Bearer ${key}` : header?.replace("Authorization: ", "");
  return { url: words.find((word) => word.startsWith("http://"))!, authorization };
}

test("every documented MCP client reaches the endpoint, with a key or by OAuth", async () => {
  const app = await startTestApp();
  const { agent } = await createPair(app.url);
  const table = sectionOf(readme, "Connect an agent");
  const commands = [...table.matchAll(/`((?:claude|codex|gemini) mcp add .+?)`/g)].map(
    ([, c]) => c!,
  );
  const shown = codeIn(clients, "sh").flatMap((block) => block.split("\n"));
  const settings: { url: string; authorization: string | undefined }[] = [];
  for (const command of [...commands, ...shown.filter((line) => line.includes(" mcp add "))]) {
    settings.push(await settingsOf(command, agent.secret));
  }
  const [cursor, code_free, code] = codeIn(clients, "json").map((text) => JSON.parse(text));
  expect(commands).toHaveLength(3);
  expect([code.servers.relay.type, code.inputs[0].id]).toEqual(["http", "relay-key"]);
  const entries = [cursor.mcpServers.relay, code_free.servers.relay, code.servers.relay];
  for (const { url, headers } of entries) {
    const secret = /\$\{(env:RELAY_KEY|input:relay-key)\}/;
    settings.push({ url, authorization: headers?.Authorization.replace(secret, agent.secret) });
  }
  expect(settings).toHaveLength(12);
  expect(settings.filter(({ authorization }) => authorization === undefined)).toHaveLength(7);
  for (const { url, authorization } of settings) {
    const answer = await fetch(url.replace(ADDRESS, app.url), {
      method: "POST",
      headers: { ...(authorization && { authorization }), "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect([url, answer.status]).toEqual([`${ADDRESS}/mcp`, authorization ? 200 : 401]);
    // Without a key, a client learns there where to sign in.
    if (!authorization) {
      expect(answer.headers.get("www-authenticate")).toContain("resource_metadata=");
    }
  }
});

test("the TypeScript programs of docs/clients.md ask, and find the task done", async () => {
  const app = await startTestApp({ env: { RATE_LIMITS: "off" } });
  const { person, agent } = await createPair(app.url);
  const [rest = "", trpc = ""] = codeIn(sectionOf(clients, "Your own programs"), "ts");
  const run = (code: string) =>
    runShell(
      `RELAY_KEY=${agent.secret} exec ${process.execPath} -e '${code.replaceAll("'", `'"'"'`)}'`,
      app.url,
    );
  using asking = run(rest);
  const { id } = await until(
    async () => (await person.send("GET /v1/questions")).body.questions[0],
  );
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  expect(await asking.ended).toBe(0);
  using listing = run(trpc);
  expect(await listing.ended).toBe(0);
  expect(listing.output()).toContain("Ship version 2");
}, 300_000);

test("docs/clients.md names every client of README and every tool", () => {
  const named = sectionOf(readme, "Connect an agent").matchAll(/^\| \[(.+?)\]/gm);
  const parts = [...named].map(([, name]) => sectionOf(clients, name!));
  expect(parts).toHaveLength(5);
  const tools = [...procedures.values(), ...mcpOnlyProcedures.values()].flatMap(({ meta }) =>
    meta.mcp && !meta.mcp.for_hooks ? meta.mcp.name : [],
  );
  const listed = [...sectionOf(clients, "Tools").matchAll(/`([a-z]+_[a-z]+)`/g)].map(([, n]) => n!);
  expect(tools.filter((name) => !listed.includes(name))).toEqual([]);
});
