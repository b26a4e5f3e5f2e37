/** `/docs`: the OpenAPI document for people, in Swagger UI (docs/interface.md 5.12.3). */

import { createHash } from "node:crypto";
import { version } from "swagger-ui-dist/package.json";
import { type Asset, serveAsset } from "../pages/asset.ts";
import type { Handler } from "../rest.ts";
import { DOCS_SECURITY } from "../security.ts";
import { CSS, pageOf, SCRIPT } from "./docs-page.ts";
import { packaged } from "./packaged.ts";

const nameOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 16);

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
const THEME: Asset = {
  name: `docs-${nameOf(CSS)}.css`,
  type: "text/css; charset=utf-8",
  content: CSS,
};
const START: Asset = {
  name: `docs-${nameOf(SCRIPT)}.js`,
  type: "text/javascript; charset=utf-8",
  content: SCRIPT,
};
const PAGE = pageOf({
  style: STYLE.name,
  theme: THEME.name,
  bundle: BUNDLE.name,
  script: START.name,
});

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
  for (const asset of [STYLE, THEME, BUNDLE, START]) {
    routes[`/docs/${asset.name}`] = { GET: serveAsset(asset) };
  }
  return routes;
}
