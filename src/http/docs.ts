/** `/docs`: the OpenAPI document for people, in Swagger UI (decisions.md, Other routes). */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { version } from "swagger-ui-dist/package.json";
import type { Handler } from "./rest.ts";

/** Runs in the page. The routes that it offers to try are those of the server that it came from. */
const SCRIPT = `const base = new URL(".", location.href).href.replace(/\\/$/, "");
const spec = await (await fetch(base + "/v1/openapi.json")).json();
spec.servers = [{ url: base }];
SwaggerUIBundle({ spec, dom_id: "#docs", deepLinking: true, validatorUrl: null, docExpansion: "list" });
`;

const hash = createHash("sha256").update(SCRIPT).digest("hex").slice(0, 16);

interface Asset {
  /** Names its content, so that a cache may keep it for ever. */
  readonly name: string;
  readonly type: string;
  readonly content: string | Bun.BunFile;
}

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
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const compress = promisify(gzip);

/** The routes of the page and of what it loads. Files are read when they are asked for. */
export function createDocs(): Record<string, { GET: Handler }> {
  const routes: Record<string, { GET: Handler }> = {
    "/docs": { GET: async () => new Response(PAGE, { headers: PAGE_HEADERS }) },
  };
  for (const asset of [STYLE, BUNDLE, START]) routes[`/docs/${asset.name}`] = { GET: serve(asset) };
  return routes;
}

function serve({ type, content }: Asset): Handler {
  const headers = {
    "content-type": type,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
    "x-content-type-options": "nosniff",
  };
  /** Made at the first request that takes it, off the event loop. */
  let compressed: Promise<Buffer> | undefined;
  return async (request) => {
    const accepted = request.headers.get("accept-encoding") ?? "";
    if (!/\bgzip\b(?! *; *q=0(\.0*)?(,|$))/i.test(accepted))
      return new Response(content, { headers });
    compressed ??= (async () =>
      compress(typeof content === "string" ? content : await content.bytes()))();
    return new Response(await compressed, { headers: { ...headers, "content-encoding": "gzip" } });
  };
}
