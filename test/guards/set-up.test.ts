/** The page's setup instructions have the same lines as docs/clients.md and docs/permissions.md. */

import { expect, test } from "bun:test";
import { join } from "node:path";
import { SET_UPS } from "../../src/web/person/agents/set-up.ts";
import { ADDRESS, codeIn, readText, runShell, sectionOf } from "../support/documents.ts";
import { tempFolder } from "../support/temp.ts";

const clients = await readText("docs/clients.md");
const permissions = await readText("docs/permissions.md");

/** What stands for the key in the document, where it is not the shell's variable. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  Codex: ["mck_..."],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor fills it in.
  Cursor: ["${env:RELAY_KEY}"],
  "Other / curl": ["$RELAY_KEY", "mck_..."],
};

const blocksOf = (section: string) =>
  ["sh", "json", "text"].flatMap((language) => codeIn(section, language)).join("\n");

for (const { client, withKey, withoutKey } of SET_UPS) {
  test(`the page and docs/clients.md have the same lines for ${client}`, () => {
    const blocks = blocksOf(sectionOf(clients, client.replace("Other / curl", "Other clients")));
    const keys = KEYS[client] ?? ["$RELAY_KEY"];
    const [first = []] = keys.map((key) => withKey(ADDRESS, key));
    const codes = first.flatMap(({ code }, i) =>
      code === undefined ? [] : [keys.map((key) => withKey(ADDRESS, key)[i]!.code!)],
    );
    expect(codes.length).toBeGreaterThan(0);
    const free = withoutKey(ADDRESS).flatMap(({ code }) => code ?? []);
    expect(free.length > 0).toBe(client !== "Cursor");
    for (const spellings of [...codes, ...free.map((code) => [code])]) {
      expect(spellings.filter((code) => blocks.includes(`${code}\n`))).not.toEqual([]);
    }
  });
}

for (const { client, relay_name, withKey, withoutKey } of SET_UPS) {
  if (!relay_name) continue;
  test(`the page and docs/permissions.md have the same block for ${client}`, () => {
    const blocks = codeIn(sectionOf(permissions, client), "sh");
    const [free] = withoutKey(ADDRESS, true).flatMap(({ code }) => code ?? []);
    expect(blocks).toContain(`${free}\n`);
    // With a key, only the way to sign in is another.
    const [keyed = ""] = withKey(ADDRESS, "mck_x", true).flatMap(({ code }) => code ?? []);
    const hooks = (text: string) => text.slice(text.indexOf("~/.c"), text.lastIndexOf("\nEND"));
    expect(hooks(keyed)).toBe(hooks(free!));
    expect(keyed).toContain(`${ADDRESS}/mcp?tools=approve`);
  });
}

/** Runs a client's block in a shell whose home is `home`, with clients that do nothing. */
async function runBlock(client: string, home: string): Promise<void> {
  const { withoutKey } = SET_UPS.find((one) => one.client === client)!;
  const [block] = withoutKey(ADDRESS, true).flatMap(({ code }) => code ?? []);
  const script = `set -e\nexport HOME=${home}\nunset CLAUDE_CONFIG_DIR CODEX_HOME\nclaude() { :; }\ncodex() { :; }\n${block}`;
  using shell = runShell(script, ADDRESS);
  expect(await shell.ended).toBe(0);
}

test("Codex's block adds the hook once, however often it is run", async () => {
  const home = tempFolder();
  const file = join(home, ".codex/config.toml");
  await Bun.write(file, 'model = "mine"\n');
  for (let n = 0; n < 2; n++) await runBlock("Codex", home);
  const { model, hooks } = Bun.TOML.parse(await Bun.file(file).text()) as any;
  expect(model).toBe("mine");
  expect(hooks.PermissionRequest).toHaveLength(1);
  expect(hooks.PermissionRequest[0].hooks[0]).toMatchObject({ tool: "approve_action" });
});

test("Claude Code's block adds no hooks where the settings have them", async () => {
  const home = tempFolder();
  const plugin = () => Bun.file(join(home, ".claude/skills/relay/.claude-plugin/plugin.json"));
  await Bun.write(join(home, ".claude/settings.json"), '{"hooks":{"x":"approve_action"}}');
  await runBlock("Claude Code", home);
  expect(await plugin().exists()).toBe(false);
  await Bun.write(join(home, ".claude/settings.json"), "{}");
  for (let n = 0; n < 2; n++) await runBlock("Claude Code", home);
  expect(Object.keys((await plugin().json()).hooks)).toEqual(["PermissionRequest", "PostToolUse"]);
});
