/** What `relay connect` and `relay disconnect` make of the text of a configuration file: every other byte stays. */

import { expect, test } from "bun:test";
import { connectText, disconnectText } from "../../src/cli/connect/change.ts";
import { CLIENTS, setUpOf } from "../../src/cli/connect/clients.ts";
import { jsonSamples, TOML_SAMPLES } from "./config-files.ts";

const LOCAL = "http://127.0.0.1:3000";
/** Without OAuth. */
const LAN = "http://192.168.1.5:3000";
const MACHINE = { env: {}, platform: "linux", home: "/home/me", host: "workbench" } as const;

/** The person's own change between connecting and disconnecting, where the sample has a place for one. */
const edit = (text: string) =>
  text
    .replace(/"([az])": 1(?!\d)/, '"$1": [7, {}]')
    .replace(/^(a|b|c) ?= ?1$/m, '$1 = { x = "y" }');

for (const client of CLIENTS) {
  test(`connecting ${client} and disconnecting it leaves every byte of a file as it was`, () => {
    for (const url of [LOCAL, LAN]) {
      const { places } = setUpOf(client, MACHINE, url, client === "claude" || client === "codex");
      for (const { format, pieces, is_replaced } of places) {
        if (is_replaced) continue;
        const section = String(pieces[0]!.path[0]);
        const samples = client === "codex" ? TOML_SAMPLES : jsonSamples(section);
        expect(Object.keys(samples).length).toBeGreaterThan(30);
        for (const [name, [text, refusal]] of Object.entries(samples)) {
          const run = () => connectText(text, format, pieces);
          if (refusal !== undefined) {
            expect(run, name).toThrow(refusal);
            continue;
          }
          const { text: after, kind } = run();
          const disconnected = (now: string) => disconnectText(now, format, text, pieces).text;
          expect([name, kind, disconnected(after)]).toEqual([name, "added", text]);
          expect([name, disconnected(edit(after))]).toEqual([name, edit(text)]);
          expect(connectText(after, format, pieces)).toEqual({ text: after, kind: "none" });
          const moved = setUpOf(client, MACHINE, `${url}1`, true).places;
          const again = moved.find((place) => place.pieces[0]!.path[0] === section)!;
          const { text: second } = connectText(after, format, again.pieces);
          expect([name, disconnected(second)]).toEqual([name, text]);
        }
      }
    }
  });
}

test("an entry is removed wherever it is, with no more than its comma", () => {
  const { format, pieces } = setUpOf("cursor", MACHINE, LOCAL, false).places[0]!;
  const entry = `"relay": {"url": "${LOCAL}/mcp", "headers": {"Authorization": "Bearer x"}}`;
  for (const [text, left] of [
    [`{\n  "a": {}, // mine\n  /* ours */\n  ${entry}\n}`, '{\n  "a": {} // mine\n  /* ours */\n}'],
    [`{\n  "a": {},\n  ${entry}, // ours\n}`, '{\n  "a": {}, // ours\n}'],
    [`{\r\n  "a": {}\r\n  , ${entry}\r\n  , "b": 1\r\n}`, '{\r\n  "a": {}\r\n  , "b": 1\r\n}'],
    [`{ "a": {}, ${entry} }`, '{ "a": {} }'],
    [`{ "a": {}, ${entry}, "b": 1 }`, '{ "a": {}, "b": 1 }'],
    [`{${entry},"b":1}`, '{"b":1}'],
    [`{${entry} /* ours */ }`, "{ /* ours */ }"],
  ] as const) {
    const file = (inner: string) => `{"mcpServers": ${inner}}`;
    expect(disconnectText(file(text), format, null, pieces).text).toBe(file(left));
  }
});

test("only the block of connecting is changed in TOML, also with what others add to the file", () => {
  const codex = (url: string, approve: boolean) =>
    setUpOf("codex", MACHINE, url, approve).places[0]!;
  const { format, pieces } = codex(LOCAL, true);
  const connected = connectText("a = 1", format, codex(LOCAL, false).pieces).text;
  expect(connected).toEndWith(`\n[mcp_servers.relay]\nurl = "${LOCAL}/mcp"`);
  const own = `${connected}\nenabled = false\n\n[projects."/x"]\nlevel = "y"\n`;
  const approving = connectText(own, format, pieces).text;
  expect(approving).toContain("enabled = false\n[[hooks.PermissionRequest]]\n");
  expect(approving).toContain(`url = "${LOCAL}/mcp?tools=approve"\n`);
  const left = 'a = 1\n\n[projects."/x"]\nlevel = "y"\n';
  expect(disconnectText(approving, format, "a = 1", pieces).text).toBe(left);
  const direct = `${connected}\n[projects]\nx = 1\n`;
  expect(disconnectText(direct, format, null, pieces).text).toBe("a = 1\n[projects]\nx = 1\n");
  // Written by hand.
  const by_hand = `[mcp_servers.relay]\nurl = "${LOCAL}/mcp"\n`;
  expect(connectText(by_hand, format, codex(LOCAL, false).pieces).kind).toBe("none");
  const refusal = "has an entry for relay that was not added by relay connect";
  expect(() => connectText(by_hand, format, pieces)).toThrow(refusal);
  const both = connectText(by_hand.replace("/mcp", "/mcp?tools=approve"), format, pieces).text;
  expect(both).toContain(".hooks]]\n");
  for (const text of [by_hand, both]) {
    expect(() => disconnectText(text, format, null, pieces)).toThrow(refusal);
  }
});

test("VS Code's input stays while another server uses it", () => {
  const { format, pieces } = setUpOf("vscode", MACHINE, LAN, false).places[0]!;
  const { text } = connectText("{}", format, pieces);
  const header = "$" + "{input:relay-key}";
  const other = { url: "https://x.example/mcp", headers: { Authorization: `Bearer ${header}` } };
  const shared = format.add(text, ["servers", "x"], other, "member");
  const left = JSON.parse(disconnectText(shared, format, "{}", pieces).text!);
  expect(left).toEqual({ servers: { x: other }, inputs: [pieces[1]!.value] });
});

test("another program's hook in a group with Relay's stays", () => {
  const { format, pieces } = setUpOf("claude", MACHINE, LOCAL, true).places[1]!;
  const { text } = connectText("{}", format, pieces);
  const joined = text.replace(
    '"hooks": [\n          {\n',
    '"hooks": [\n          {"type": "x"},\n          {\n',
  );
  expect(joined).not.toBe(text);
  const { text: left } = disconnectText(joined, format, "{}", pieces);
  expect(JSON.parse(left!)).toEqual({
    hooks: { PostToolUse: [{ matcher: "*", hooks: [{ type: "x" }] }] },
  });
});
