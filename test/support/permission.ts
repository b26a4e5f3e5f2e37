/** Permission requests, as clients send them and as the person is asked. */

import { contentOf, type PermissionContent } from "../../src/permission/content.ts";
import { type PermissionRequest, readCall } from "../../src/permission/request.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** What a Claude Code hook sends besides the tool. */
export const HOOK = {
  event: "PermissionRequest",
  session_id: "s1",
  prompt_id: "p1",
  cwd: "/home/ann/app",
  tool_input: "{}",
};

/** What Relay reads from a request with these fields. */
export function requestOf(given: Fields, client: string | null = "claude-code"): PermissionRequest {
  const call = readCall({ ...HOOK, ...given }, client);
  if (call.is !== "request") throw new Error(`it is ${call.is}`);
  return call.request;
}

/** What the request asks the person. */
export function asked(given: Fields, client?: string): PermissionContent {
  const content = contentOf(requestOf(given, client), "build-7");
  if (typeof content === "string") throw new Error(content);
  return content;
}

/** The form and text in which the person sees an input. */
export const shown = (tool_name: string, tool_input: unknown, client?: string) => {
  const { form, text } = asked({ tool_name, tool_input }, client).action;
  return [form, text];
};
