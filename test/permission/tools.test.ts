/** Tools that the person is not asked about, and those with an answer of their own (§12.6). */

import { expect, test } from "bun:test";
import { procedures } from "../../routers/index.ts";
import { mcpOnlyProcedures } from "../../routers/mcp-only.ts";
import { createTools } from "../../src/mcp/tools.ts";
import { contentOf } from "../../src/permission/content.ts";
import { decisionText } from "../../src/permission/decision.ts";
import { OWN_TOOLS } from "../../src/permission/own-tools.ts";
import { type PermissionRequest, readCall } from "../../src/permission/request.ts";

type Fields = Readonly<Record<string, unknown>>;

function requestOf(given: Fields, client = "claude-code"): PermissionRequest {
  const call = readCall({ event: "PermissionRequest", tool_input: "{}", ...given }, client);
  if (call.is !== "request") throw new Error(`it is ${call.is}`);
  return call.request;
}

const shown = (tool_name: string, tool_input: unknown) => {
  const content = contentOf(requestOf({ tool_name, tool_input }), null);
  if (typeof content === "string") throw new Error(content);
  return [content.action.form, content.action.text];
};

test("among MCP tools, only those of Relay's own server are not asked about [§12.6.2(2)]", () => {
  const tools = createTools(new Map([...procedures, ...mcpOnlyProcedures]));
  expect([...OWN_TOOLS].sort()).toEqual([...tools.keys()].sort());
  const isAsked = (tool_name: string, server?: string) => {
    const content = contentOf(requestOf({ tool_name }), null, server);
    return typeof content === "string" ? content : "asked";
  };
  for (const name of OWN_TOOLS) {
    expect([name, isAsked(`mcp__relay__${name}`)]).toEqual([name, "own_tool"]);
    for (const other of ["slack", "relay2", "my_relay", "relay__eu", "Relay", "plugin_x_relay"]) {
      expect([other, name, isAsked(`mcp__${other}__${name}`)]).toEqual([other, name, "asked"]);
    }
    expect([name, isAsked(name)]).toEqual([name, "asked"]);
  }
  for (const tool of ["mcp__relay__other", "mcp__create_task", "mcp__relay__x__create_task"]) {
    expect([tool, isAsked(tool)]).toEqual([tool, "asked"]);
  }
  // With the person's name for Relay, in the form that clients give it.
  expect(isAsked("mcp__my_Relay__list_tasks", "my Relay")).toBe("own_tool");
  expect(isAsked("mcp__relay__list_tasks", "my Relay")).toBe("asked");
});

test("a tool that opens a dialog of the client is not asked about, since an Allow has no effect", () => {
  for (const tool_name of ["AskUserQuestion", "PublishPlugin"]) {
    expect(contentOf(requestOf({ tool_name }), null)).toBe("local_tool");
  }
  expect(contentOf(requestOf({ tool_name: "EnterPlanMode" }), null)).toBeObject();
});

test("a plan is shown as written, below all other arguments, and permitted with its input [§12.6.5]", () => {
  const plan = "# Plan\n\n1. touch made";
  const tool_name = "ExitPlanMode";
  expect(shown(tool_name, { plan })).toEqual(["arguments", plan]);
  const input = { plan, planFilePath: "/p.md" };
  expect(shown(tool_name, input)).toEqual([
    "arguments",
    `{\n  "planFilePath": "/p.md"\n}\n\nplan:\n${plan}`,
  ]);
  const decision = (given: Fields, answer: string, client?: string) =>
    JSON.parse(decisionText(requestOf(given, client), { answer })).hookSpecificOutput.decision;
  const given = { tool_name, tool_input: JSON.stringify(input) };
  expect(decision(given, "Allow")).toEqual({ behavior: "allow", updatedInput: input });
  expect(decision(given, "Deny").behavior).toBe("deny");
  const written = '{"plan":"p","limit":1.50,"steps":[1E3]}';
  expect(
    decisionText(requestOf({ tool_name, tool_input: written }), { answer: "Allow" }),
  ).toContain(`"updatedInput":${written}}`);
  // Whatever else is known of a client that has this tool.
  expect(decision(given, "Allow", "my-wrapper").updatedInput).toEqual(input);
  // Codex rejects an answer with this member.
  expect(decision(given, "Allow", "codex")).toEqual({ behavior: "allow" });
  expect(decision({ tool_name: "Bash", tool_input: { command: "ls" } }, "Allow")).toEqual({
    behavior: "allow",
  });
  // Without the plan, the person would permit something unseen.
  for (const tool_input of [{}, { plan: " \n" }, { plan: 1 }, { planFilePath: "/p.md" }, []]) {
    expect(contentOf(requestOf({ tool_name, tool_input }), null)).toBe("no_plan");
  }
});
