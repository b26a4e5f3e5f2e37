/** Hooks that an earlier version's `relay connect` or the page's lines added are replaced by connecting, or removed. */

import { expect, test } from "bun:test";
import { connectText, disconnectText } from "../../src/cli/connect/change.ts";
import { setUpOf } from "../../src/cli/connect/clients.ts";
import { CLAUDE_HOOKS } from "../../src/web/person/agents/permission-hooks.ts";

const MACHINE = { env: {}, platform: "linux", home: "/home/me", host: "workbench" } as const;
const [, settings, plugin] = setUpOf("claude", MACHINE, "http://127.0.0.1:3000", true).places;
const { format, pieces } = settings!;

test("connecting and disconnecting remove the Stop hook of an earlier version", () => {
  const stop = pieces.find(({ path }) => path.at(-1) === "Stop")!;
  const others = '{\n  "hooks": {\n    "Stop": [\n      { "hooks": [] }\n    ]\n  }\n}\n';
  for (const text of ["{}\n", others]) {
    const now = connectText(text, format, pieces).text;
    const earlier = format.add(now, stop.path, stop.value, stop.as);
    expect(earlier).not.toBe(now);
    expect(connectText(earlier, format, pieces)).toEqual({ text: now, kind: "updated" });
    expect(disconnectText(earlier, format, text, pieces).text).toBe(text);
    const { text: left } = disconnectText(earlier, format, null, pieces);
    expect(left ?? "").not.toContain("approve_action");
  }
});

test("hooks of an earlier version, which did not name the agent, are replaced and removed", () => {
  const now = connectText("{}\n", format, pieces).text;
  const hooks = pieces.filter(({ path }) => path.at(-1) !== "Stop");
  const former = hooks.filter(({ is_former }) => is_former);
  expect(former.map(({ path }) => path.at(-1))).toEqual(["PermissionRequest", "PostToolUse"]);
  const earlier = former.reduce(
    (text, { path, value, as }) => format.add(text, path, value, as),
    "{}\n",
  );
  expect(earlier).toContain("approve_action");
  expect(earlier).not.toContain("agent_id");
  expect(connectText(earlier, format, pieces)).toEqual({ text: now, kind: "updated" });
  expect(now.match(/agent_id": /g)?.length).toBe(2);
  expect(disconnectText(earlier, format, "{}\n", pieces).text).toBe("{}\n");
  // What the person has changed is the person's own.
  const changed = earlier.replaceAll('"matcher": "*"', '"matcher": "Bash"');
  expect(connectText(changed, format, pieces)).toEqual({ text: changed, kind: "none" });
});

test("the page's lines for Claude Code have the same hooks, and connecting and disconnecting remove theirs", () => {
  const [, , text = ""] = /<<'(END)'\n(.+)\nEND$/s.exec(CLAUDE_HOOKS)!;
  const { hooks, ...rest } = JSON.parse(text);
  expect(JSON.parse(connectText("{}", format, pieces).text).hooks).toEqual(hooks);
  expect(plugin!.file).toBe("/home/me/.claude/skills/relay/.claude-plugin/plugin.json");
  const connected = connectText(text, plugin!.format, plugin!.pieces);
  expect([connected.kind, JSON.parse(connected.text)]).toEqual(["updated", rest]);
  const disconnected = disconnectText(text, plugin!.format, null, plugin!.pieces);
  expect([disconnected.kind, JSON.parse(disconnected.text!)]).toEqual(["removed", rest]);
  // Without the plugin, no file is made.
  expect(connectText("", plugin!.format, plugin!.pieces)).toEqual({ text: "", kind: "none" });
});
