/** What the person reads about the rules that "Allow for this session" permits. */

import { expect, test } from "bun:test";
import { asked } from "../support/permission.ts";

const of_session = { behavior: "allow", destination: "session" };

test("a rule that permits every use of a tool says so, however narrow it looks [§12.6.2]", () => {
  const grants = (toolName: string, ruleContent?: string) => {
    const given = { ...of_session, type: "addRules", rules: [{ toolName, ruleContent }] };
    const permission_suggestions = JSON.stringify([given]);
    return asked({ tool_name: "Bash", tool_input: { command: "ls" }, permission_suggestions })
      .action.grants;
  };
  for (const [name, content, expected] of [
    ["Bash", undefined, "All of Bash"],
    ["Bash", "", "All of Bash: Bash()"],
    ["Bash", " \u200b", "All of Bash: Bash( \\u{200b})"],
    ["Bash", "*", "All of Bash: Bash(*)"],
    ["Bash", ":*", "All of Bash: Bash(:*)"],
    ["Bash", "* *", "All of Bash: Bash(* *)"],
    ["WebFetch", "domain:*", "All of WebFetch: WebFetch(domain:*)"],
    ["Read", "//**", "All of Read: Read(//**)"],
    ["Edit", "//**/*", "All of Edit: Edit(//**/*)"],
    ["Edit", "**/*", "All of Edit: Edit(**/*)"],
    ["Edit", "*/*", "Edit(*/*)"],
    ["Edit", "**/*.ts", "Edit(**/*.ts)"],
    ["Read", "/src/**", "Read(/src/**)"],
    ["Bash", "npm test:*", "Bash(npm test:*)"],
    ["WebFetch", "domain:example.com", "WebFetch(domain:example.com)"],
    ["mcp__github", undefined, "All tools of mcp__github"],
    ["mcp__github__*", undefined, "All tools that match mcp__github__*"],
    ["mcp__github__get_issue", undefined, "All of mcp__github__get_issue"],
    ["*", undefined, "All tools that match *"],
  ] as const) {
    expect(grants(name, content)).toEqual([expected]);
  }
  // Its name would look like a narrower rule.
  expect(grants("Bash(ls)")).toBeUndefined();
  const folders = ["/", "//", "C:\\", "/.", "/tmp", ".."];
  const permission_suggestions = JSON.stringify([
    { ...of_session, type: "addDirectories", directories: folders },
  ]);
  expect(
    asked({ tool_name: "Bash", tool_input: { command: "ls" }, permission_suggestions }).action
      .grants,
  ).toEqual([
    ...["All folders: /", "All folders: //", "All folders: C:\\", "All folders: /."],
    ...["Folder /tmp", "Folder ..: /home/ann, outside the agent's folder"],
  ]);
});

test("a path that leads upward is resolved, and marked if it leaves the agent's folder [§12.6.2]", () => {
  const grantsOf = (suggestion: object, cwd: string) =>
    asked({
      tool_name: "Bash",
      tool_input: { command: "ls" },
      cwd,
      permission_suggestions: JSON.stringify([{ ...of_session, ...suggestion }]),
    }).action.grants;
  const folders = ["..", "a/..", "a/../../../b", "../../..", "/tmp/..", "/srv/c/../x", "../app/b"];
  expect(grantsOf({ type: "addDirectories", directories: folders }, "/srv/c/app")).toEqual([
    "Folder ..: /srv/c, outside the agent's folder",
    "Folder a/..: /srv/c/app",
    "Folder a/../../../b: /srv/b, outside the agent's folder",
    "All folders: ../../..: /, outside the agent's folder",
    "All folders: /tmp/..: /, outside the agent's folder",
    "Folder /srv/c/../x: /srv/x, outside the agent's folder",
    "Folder ../app/b: /srv/c/app/b",
  ]);
  expect(grantsOf({ type: "addDirectories", directories: ["..\\.."] }, "C:\\a\\b")).toEqual([
    "All folders: ..\\..: C:\\, outside the agent's folder",
  ]);
  const rules = [
    ["Read", "../**"],
    ["Edit", "/../../../**"],
    ["Bash", "cat ../x"],
    ["Read", "src/**"],
  ].map(([toolName, ruleContent]) => ({ toolName, ruleContent }));
  expect(grantsOf({ type: "addRules", rules }, "/srv/c/app")).toEqual([
    "Read(../**): /srv/c/**, outside the agent's folder",
    "All of Edit: Edit(/../../../**): /**, outside the agent's folder",
    "Bash(cat ../x)",
    "Read(src/**)",
  ]);
});
