/** `/problems/<code>`: a page about each error code, to which the `type` of an error body leads (§9.1.5). */

import { ERRORS, type ErrorCode, fail } from "../../errors.ts";
import type { Handler } from "../rest.ts";
import { PROBLEM_SECURITY } from "../security.ts";
import { serveAsset, serveCompressed, textAsset } from "./asset.ts";
import { escaped, htmlPage } from "./html.ts";

/** The colours of the other pages (src/web/styles.css). */
const CSS = `:root{color-scheme:light dark;--bg:#faf9f7;--ink:#1d1e1b;--soft:#55564f;--line:#e5e2dc;--accent:#17564d}
@media (prefers-color-scheme:dark){:root{--bg:#141513;--ink:#eceee8;--soft:#b7bab0;--line:#33362f;--accent:#7ccbbc}}
body{margin:0;padding:2rem 1rem;background:var(--bg);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
main{max-width:38rem;margin:0 auto}
h1{font-size:1.5rem;line-height:1.3;margin:0 0 1rem}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem;margin:0 0 1rem;padding:.75rem 0;border:solid var(--line);border-width:1px 0}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code{font-family:ui-monospace,monospace}
a{color:var(--accent)}
`;

export const STYLE = textAsset("style", "css", CSS);

// Relative addresses, so that it also works behind a proxy that adds a path.
function documentOf(code: ErrorCode): string {
  const { title, status, clause, help, ...rest } = ERRORS[code];
  const retry = "retry_after" in rest ? "yes, after the seconds in <code>Retry-After</code>" : "no";
  return htmlPage({
    title: `${code}: ${title}`,
    styles: [STYLE.name],
    body: `<main>
<h1>${escaped(title)}</h1>
<dl>
<dt>Code</dt><dd><code>${code}</code></dd>
<dt>HTTP status</dt><dd>${status}</dd>
<dt>Specified in</dt><dd>${clause} of <code>docs/interface.md</code></dd>
<dt>Sent with a time to retry</dt><dd>${retry}</dd>
</dl>
<p>${escaped(help)}</p>
<p><a href="../docs">Try the interface</a></p>
</main>`,
  });
}

/** The routes of the pages and of their style; `404 unknown_path` for an unknown code. */
export function createProblemPages(): Record<string, { GET: Handler }> {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    ...PROBLEM_SECURITY,
  };
  const pages = new Map<string, Handler>(
    (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
      code,
      serveCompressed(documentOf(code), headers),
    ]),
  );
  return {
    [`/problems/${STYLE.name}`]: { GET: serveAsset(STYLE) },
    "/problems/{code}": {
      GET: async (request, scope) => {
        const { code = "" } = request.params as { code?: string };
        const serve = pages.get(code) ?? fail("unknown_path");
        return serve(request, scope);
      },
    },
  };
}
