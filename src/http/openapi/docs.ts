/** `/docs`: the OpenAPI document for people, in Swagger UI (§5.12.3). */

import { version } from "swagger-ui-dist/package.json";
import { type Asset, serveAsset, TEXT_TYPES, textAsset } from "../pages/asset.ts";
import type { Handler } from "../rest.ts";
import { DOCS_SECURITY } from "../security.ts";
import { CSS, pageOf, SCRIPT } from "./docs-page.ts";
import { packaged } from "./packaged.ts";

const STYLE: Asset = {
  name: `swagger-ui-${version}.css`,
  type: TEXT_TYPES.css,
  content: packaged("swagger-ui.css"),
};
const BUNDLE: Asset = {
  name: `swagger-ui-${version}.js`,
  type: TEXT_TYPES.js,
  content: packaged("swagger-ui-bundle.js"),
};
const THEME = textAsset("docs", "css", CSS);
const START = textAsset("docs", "js", SCRIPT);

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

/** The routes of the page and of its files, which are read at their first request. */
export function createDocs(): Record<string, { GET: Handler }> {
  const assets = [STYLE, THEME, BUNDLE, START];
  return {
    "/docs": { GET: async () => new Response(PAGE, { headers: PAGE_HEADERS }) },
    ...Object.fromEntries(
      assets.map((asset) => [`/docs/${asset.name}`, { GET: serveAsset(asset) }]),
    ),
  };
}
