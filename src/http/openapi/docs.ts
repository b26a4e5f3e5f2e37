/** `/docs`: the OpenAPI document for people, in Swagger UI (docs/interface.md 5.12.3). */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { version } from "swagger-ui-dist/package.json";
import { type Asset, serveAsset } from "../pages/asset.ts";
import type { Handler } from "../rest.ts";
import { DOCS_SECURITY } from "../security.ts";

/** Runs in the page. The routes that it offers to try are those of the server that it came from. */
const SCRIPT = `const base = new URL(".", location.href).href.replace(/\\/$/, "");
const spec = await (await fetch(base + "/v1/openapi.json")).json();
spec.servers = [{ url: base }];
SwaggerUIBundle({ spec, dom_id: "#docs", deepLinking: true, validatorUrl: null, docExpansion: "list" });
`;

const hash = createHash("sha256").update(SCRIPT).digest("hex").slice(0, 16);

const packaged = (file: string) =>
  Bun.file(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file}`)));

const STYLE: Asset = {
  name: `swagger-ui-${version}.css`,
  type: "text/css; charset=utf-8",
  content: packaged("swagger-ui.css"),
};
const BUNDLE: Asset = {
  name: `swagger-ui-${version}.js`,
  type: "text/javascript; charset=utf-8",
  content: packaged("swagger-ui-bundle.js"),
};
const START: Asset = {
  name: `docs-${hash}.js`,
  type: "text/javascript; charset=utf-8",
  content: SCRIPT,
};

// Relative addresses, so that it also works behind a proxy that adds a path.
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Relay: the HTTP interface</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/${STYLE.name}">
<script src="docs/${BUNDLE.name}" defer></script>
<script src="docs/${START.name}" type="module"></script>
</head>
<body>
<main id="docs"></main>
<noscript>This page needs JavaScript; <a href="v1/openapi.json">the OpenAPI document</a> does not.</noscript>
</body>
</html>
`;

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  ...DOCS_SECURITY,
};

/** The routes of the page and of what it loads. Files are read when they are asked for. */
export function createDocs(): Record<string, { GET: Handler }> {
  const routes: Record<string, { GET: Handler }> = {
    "/docs": { GET: async () => new Response(PAGE, { headers: PAGE_HEADERS }) },
  };
  for (const asset of [STYLE, BUNDLE, START]) {
    routes[`/docs/${asset.name}`] = { GET: serveAsset(asset) };
  }
  return routes;
}
