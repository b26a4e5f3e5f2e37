/** The page's setup instructions have the same lines as docs/clients.md and docs/permissions.md. */

import { expect, test } from "bun:test";
import { SET_UPS } from "../../src/web/person/agents/set-up.ts";
import { ADDRESS, codeIn, readText, sectionOf } from "../support/documents.ts";

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
