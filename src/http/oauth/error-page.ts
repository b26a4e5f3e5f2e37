/** The page that a person sees when `/oauth/authorize` cannot go on (§18.4.5). */

import { escaped, htmlPage } from "../pages/html.ts";
import { STYLE } from "../pages/problems.ts";
import { PROBLEM_SECURITY } from "../security.ts";

interface ErrorPage {
  readonly title: string;
  readonly text: string;
  /** Instructions for the person, by program. */
  readonly steps?: readonly (readonly [program: string, step: string])[];
  /** Where the program waits for an answer. A link and no redirect, as the request may come from anyone. */
  readonly back?: { readonly url: string; readonly host: string } | null;
  /** Default 400. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function errorPage({
  title,
  text,
  steps,
  back,
  status = 400,
  headers,
}: ErrorPage): Response {
  const list = (steps ?? []).map(
    ([program, step]) => `<dt>${escaped(program)}</dt><dd>${escaped(step)}</dd>\n`,
  );
  const link = back
    ? `<p><a rel="noreferrer" href="${escaped(back.url)}">Go back to ${escaped(back.host)}</a></p>`
    : "<p>You can close this page.</p>";
  const html = htmlPage({
    title,
    styles: [`/problems/${STYLE.name}`],
    body: `<main>
<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
${list.length > 0 ? `<dl>\n${list.join("")}</dl>\n` : ""}${link}
</main>`,
  });
  const all = {
    ...headers,
    "content-type": "text/html; charset=utf-8",
    ...PROBLEM_SECURITY,
    "cache-control": "no-store",
  };
  return new Response(html, { status, headers: all });
}

/** How to make each program forget its registration and sign in again. Most do so by themselves after `invalid_client`. */
const STEPS = [
  [
    "Claude Code",
    "Enter /mcp, choose relay, then Clear authentication, then Authenticate. If that is not offered: claude mcp remove relay, and add it again.",
  ],
  ["Codex", "codex mcp logout relay, then codex mcp login relay."],
  ["Gemini CLI", "Enter /mcp auth relay."],
  [
    "Cursor",
    "In the settings under MCP, log relay out, or remove it and add it again. Then connect.",
  ],
  [
    "VS Code",
    "Run the command Authentication: Remove Dynamic Authentication Providers, choose this address, and start the server again.",
  ],
  ["mcp-remote", "Delete the folder .mcp-auth in your home directory, and start it again."],
  ["relay", "relay login with this address."],
  ["Any other", "Remove the server there, and add it again."],
] as const;

/** For a program whose registration this server does not know. */
export const UNKNOWN_CLIENT = {
  title: "This program must register again",
  text: "This server doesn't know the program's client_id. That happens after Relay's data was replaced, or if another server had this address before. Make the program forget its sign-in, then start again:",
  steps: STEPS,
};
