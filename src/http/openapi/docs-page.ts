/** The document, script and style of `/docs`. */

import { escaped, htmlPage } from "../pages/html.ts";

/** A step of the introduction, with its line for a shell. */
interface Line {
  readonly text: string;
  readonly code: string;
}

const JSON_BODY = "-H 'Content-Type: application/json'";

/** The script replaces it by the address of the server. */
const BASE = "$RELAY";

/** From nothing to an answered question. */
const LINES: readonly Line[] = [
  {
    text: "Create an account. Its token is the person's.",
    code: `TOKEN=$(curl -s -X POST ${BASE}/v1/accounts | grep -o 'mca_[^"]*')`,
  },
  {
    text: "Make a key for an agent.",
    code: `KEY=$(curl -s ${BASE}/v1/keys -H "Authorization: Bearer $TOKEN" ${JSON_BODY} -d '{"label":"builder"}' | grep -o 'mck_[^"]*' | tail -n 1)`,
  },
  {
    text: "The agent asks a question.",
    code: `ID=$(curl -s ${BASE}/v1/questions -H "Authorization: Bearer $KEY" ${JSON_BODY} -d '{"prompt":"Deploy now?"}' | grep -o 'qst_[0-9a-f]*' | head -n 1)`,
  },
  {
    text: "It waits for the answer, here in the background: at most 50 seconds in one request.",
    code: `curl -s "${BASE}/v1/questions/$ID?wait=50" -H "Authorization: Bearer $KEY" &`,
  },
  {
    text: "The person answers. Both requests print the answered question.",
    code: `curl -s ${BASE}/v1/questions/$ID/answer -H "Authorization: Bearer $TOKEN" ${JSON_BODY} -d '{"answer":"Yes"}'`,
  },
];

interface Parts {
  readonly style: string;
  readonly theme: string;
  readonly bundle: string;
  readonly script: string;
}

/** The document. Its addresses are relative, so that it works behind a proxy that adds a path. */
export const pageOf = ({ style, theme, bundle, script }: Parts): string =>
  htmlPage({
    title: "Relay: the HTTP interface",
    styles: [`docs/${style}`, `docs/${theme}`],
    head: `<script src="docs/${bundle}" defer></script>
<script src="docs/${script}" type="module"></script>
`,
    body: `<header>
<h1>Relay's HTTP interface</h1>
<p>Agents report their work as tasks, ask a person questions and wait for the answers. Everything that
<a href="./">the web page</a> does can be done with these routes.</p>
<h2>Get started</h2>
<p>Five lines for a shell, from nothing to an answered question:</p>
<ol>
${LINES.map(({ text, code }) => `<li><p>${escaped(text)}</p><pre><code>${escaped(code)}</code></pre></li>`).join("\n")}
</ol>
<p>A server may accept no new accounts, or only one with a start code. Then create the account on
<a href="./">the web page</a>, and begin with <code>TOKEN=</code> and the token that it shows.</p>
<p>All routes treat lists, limits and errors alike. Each error has a <code>code</code> and an
address that explains it. Generators of clients take <a href="v1/openapi.json">the OpenAPI document</a>.</p>
<h2>Routes</h2>
</header>
<div id="docs"></div>
<noscript><p>The list of routes needs JavaScript; <a href="v1/openapi.json">the OpenAPI document</a> does not.</p></noscript>`,
  });

/**
 * Runs in the page, and lets a reader try the routes of the server that the page came from. The plugin leaves out what
 * the introduction says. The repairs fix what axe finds in Swagger UI.
 */
export const SCRIPT = `const base = new URL(".", location.href).href.replace(/\\/$/, "");
for (const line of document.querySelectorAll("pre code")) {
  line.textContent = line.textContent.replaceAll("${BASE}", base);
}
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();

const named = (name) => (one) => one.setAttribute("aria-label", name);
const REPAIRS = [
  ["textarea:not([aria-label])", named("Request body")],
  [".close-modal:not([aria-label])", named("Close")],
  [".modal-btn[aria-label]", (one) => one.removeAttribute("aria-label")],
  ["tr[data-param-name] :is(input, select):not([aria-label])", (one) => named(one.closest("tr").dataset.paramName)(one)],
  [".auth-container input:not([aria-label])", named("Value")],
  ["table[role=region]", (one) => one.removeAttribute("role")],
  ["#docs pre:not([tabindex])", (one) => one.setAttribute("tabindex", "0")],
];
const docs = document.getElementById("docs");
new MutationObserver(() => {
  for (const [what, repair] of REPAIRS) docs.querySelectorAll(what).forEach(repair);
}).observe(docs, { childList: true, subtree: true });

const relay = ({ React: { createElement: h } }) => ({
  components: {
    InfoContainer: () => null,
    ServersContainer: () => null,
    // In a button, so not a link.
    DeepLink: ({ text }) => h("span", null, text),
  },
  wrapComponents: {
    authorizeBtn: (Button) => (props) => h("section", { "aria-label": "Credentials" }, h(Button, props)),
  },
});
const spec = await (await fetch(base + "/v1/openapi.json")).json();
spec.servers = [{ url: base }];
SwaggerUIBundle({
  spec,
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  syntaxHighlight: false,
  plugins: [relay],
});
`;

/** The colours of the other pages (src/web/styles.css), and contrasts that Swagger UI lacks. */
export const CSS = `:root{color-scheme:light dark;--bg:#faf9f7;--surface:#fff;--sunken:#f2f0ec;--line:#e5e2dc;--ink:#1d1e1b;--soft:#55564f;--accent:#17564d}
@media (prefers-color-scheme:dark){:root{--bg:#141513;--surface:#1c1e1b;--sunken:#252722;--line:#33362f;--ink:#eceee8;--soft:#b7bab0;--accent:#7ccbbc}}
html,html.dark-mode{background:var(--bg)}
body{margin:0;background:var(--bg);color:var(--ink);font:1rem/1.6 system-ui,sans-serif}
header,noscript{display:block;max-width:60rem;margin:0 auto;padding:2.5rem 1.25rem 0}
h1{font-size:1.75rem;line-height:1.25;margin:0 0 .75rem;letter-spacing:-.01em}
h2{font-size:1.25rem;line-height:1.3;margin:2rem 0 .5rem}
p{margin:0 0 .75rem;max-width:44rem}
ol{margin:0 0 1.25rem;padding:0 0 0 1.5rem}
li{margin:0 0 .75rem}
li p{margin:0 0 .25rem}
a{color:var(--accent)}
header code{font:.8125rem/1.6 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
header pre{margin:0;padding:.6rem .9rem;border:1px solid var(--line);border-radius:.75rem;background:var(--sunken);white-space:pre-wrap;overflow-wrap:anywhere}
pre code{user-select:all}
#docs .swagger-ui{color:var(--ink);background:none;font-family:inherit}
#docs .wrapper{max-width:60rem;padding:0;box-sizing:border-box}
#docs .scheme-container .wrapper{padding:0 1.25rem}
#docs .btn{transition:none;box-shadow:none}
#docs .scheme-container{margin:0 0 1rem;padding:1rem 0;background:none;box-shadow:none}
html:not(.dark-mode) #docs :is(.opblock-description-wrapper,.opblock-external-docs-wrapper,.opblock-title_normal) p{color:var(--ink)}
html:not(.dark-mode) #docs .btn{color:var(--ink);border-color:#8a867d}
html:not(.dark-mode) #docs .btn:is(.authorize,.execute){color:#fff;background:var(--accent);border-color:var(--accent)}
html:not(.dark-mode) #docs .btn.authorize :is(svg,path){fill:#fff}
html:not(.dark-mode) #docs .btn.cancel{color:#b3261e;border-color:#b3261e}
html:not(.dark-mode) #docs :is(.parameter__in,.prop-format,.response-col_links,.json-schema-2020-12-expand-deep-button){color:#55564f}
html:not(.dark-mode) #docs .download-contents{background:#4a4f5c}
html:not(.dark-mode) #docs :is(.markdown,.renderedMarkdown) code{color:var(--accent);background:rgb(0 0 0/.05)}
html:not(.dark-mode) #docs .json-schema-2020-12__constraint--string{background:#835000}
html.dark-mode #docs td{color:var(--ink)}
html.dark-mode #docs .opblock-section-header{background:var(--sunken)}
html.dark-mode #docs .btn.cancel{color:#ff9d93;border-color:#ff9d93}
html.dark-mode #docs .btn:is(.authorize,.execute){color:#08261f;background:var(--accent);border-color:var(--accent)}
html.dark-mode #docs .btn.authorize :is(svg,path){fill:#08261f}
html:not(.dark-mode) #docs .opblock-get .opblock-summary-method{background:#1c5d99}
html:not(.dark-mode) #docs .opblock-post .opblock-summary-method{background:#1f6b3a}
html:not(.dark-mode) #docs .opblock-put .opblock-summary-method{background:#835000}
html:not(.dark-mode) #docs .opblock-patch .opblock-summary-method{background:#0b6b62}
html:not(.dark-mode) #docs .opblock-delete .opblock-summary-method{background:#b3261e}
`;
