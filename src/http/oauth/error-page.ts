/** What a person sees when `/oauth/authorize` cannot go on: a page without a script (docs/interface.md §18.4.5). */

import { escaped, STYLE } from "../pages/problems.ts";
import { PROBLEM_SECURITY } from "../security.ts";

interface ErrorPage {
  readonly title: string;
  readonly text: string;
  /** What to do, by program. */
  readonly steps?: readonly (readonly [program: string, step: string])[];
  /** Where the program waits for an answer; left to the person, as the link may come from anyone. */
  readonly back: { readonly url: string; readonly host: string } | null;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function errorPage({ title, text, steps, back, status, headers }: ErrorPage): Response {
  const list = (steps ?? []).map(
    ([program, step]) => `<dt>${escaped(program)}</dt><dd>${escaped(step)}</dd>\n`,
  );
  const link = back
    ? `<p><a rel="noreferrer" href="${escaped(back.url)}">Go back to ${escaped(back.host)}</a></p>`
    : "<p>You can close this page.</p>";
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/problems/${STYLE.name}">
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
${list.length > 0 ? `<dl>\n${list.join("")}</dl>\n` : ""}${link}
</main>
</body>
</html>
`;
  const all = {
    ...headers,
    "content-type": "text/html; charset=utf-8",
    ...PROBLEM_SECURITY,
    "cache-control": "no-store",
  };
  return new Response(html, { status, headers: all });
}
