/** The web pages: each a document, and what it loads, all from this server (docs/interface.md 5.12.3). */

import { createHash } from "node:crypto";
import { fail } from "../../errors.ts";
import type { RequestScope } from "../request-scope.ts";
import type { Handler } from "../rest.ts";
import { API_SECURITY, PAGE_SECURITY, WORKER_SECURITY } from "../security.ts";
import { type Asset, serveAsset, serveCompressed } from "./asset.ts";
import type { Bundle } from "./bundle.ts";
import { readAdmin, readSources, type Sources } from "./sources.ts";

interface PagesOptions {
  /** The address at which agents reach this server, when it is known; else the page uses its own address. */
  readonly public_url: string | undefined;
  /** Who can create an account (docs/interface.md §5.2.1). */
  readonly account_creation: "open" | "first" | "off";
  /** Whether the first account exists, or existed: then none can be created where only one can. */
  readonly hadFirstAccount: () => Promise<boolean>;
  /** Whether there is an admin, and so their page. */
  readonly admin: boolean;
}

/** What the routes answer with, once it is made. */
interface Built {
  readonly document: Handler;
  readonly worker: Handler;
  readonly manifest: Handler;
  readonly assets: ReadonlyMap<string, Handler>;
  /** Name of the icon among the assets. */
  readonly icon: string;
}

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  ...PAGE_SECURITY,
};

const fixedHeaders = (type: string) => ({
  "content-type": type,
  "cache-control": "no-cache",
  ...API_SECURITY,
});

/** Makes it once for all who ask; a failure is not kept. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    if (!made) {
      made = make();
      made.catch(() => {
        made = undefined;
      });
    }
    return made;
  };
}

/**
 * Made of files of this version alone, so every server of the process shares them: at the first
 * request, not at the start, as it takes a second.
 */
const sources = once(readSources);
const adminSource = once(readAdmin);

/** The routes of the pages. A fault of making one is a fault of that request alone. */
export function createPages({
  public_url,
  account_creation,
  hadFirstAccount,
  admin,
}: PagesOptions): Record<string, { GET: Handler }> {
  const get = once(async () => build(await sources(), public_url, account_creation));
  const getClosed = once(async () => build(await sources(), public_url, "off"));
  /** Once it is true, for good. */
  let is_closed = false;
  /** The page as it is now: one that offers no account where none can be created any more. */
  const getCurrent = async (): Promise<Built> => {
    if (account_creation !== "first") return get();
    // Without the store, the page says what was true at first; the server has the last word.
    is_closed ||= await hadFirstAccount().catch(() => false);
    return is_closed ? getClosed() : get();
  };
  const getAdmin = once(async () => {
    const [bundle, { icon }] = await Promise.all([adminSource(), get()]);
    return buildAdmin(bundle, icon);
  });
  return {
    ...(admin && {
      "/admin": {
        GET: async (request: Bun.BunRequest, scope: RequestScope) =>
          (await getAdmin()).document(request, scope),
      },
    }),
    "/": { GET: async (request, scope) => (await getCurrent()).document(request, scope) },
    "/sw.js": { GET: async (request, scope) => (await getCurrent()).worker(request, scope) },
    "/manifest.webmanifest": {
      GET: async (request, scope) => (await get()).manifest(request, scope),
    },
    "/assets/{name}": {
      GET: async (request, scope) => {
        const { name = "" } = request.params as { name?: string };
        const serve =
          (await get()).assets.get(name) ??
          (admin ? (await getAdmin()).assets.get(name) : undefined) ??
          fail("unknown_path");
        return serve(request, scope);
      },
    },
  };
}

function build(
  { person, worker, icons }: Sources,
  public_url: string | undefined,
  account_creation: PagesOptions["account_creation"],
): Built {
  const [icon, maskable, touch] = icons as [Asset, Asset, Asset];
  const all = [...person.assets, ...icons];
  // Files that the page needs to open without the server; other fonts and chunks are kept once they are used.
  const shell = all.filter(({ name }) => !name.endsWith(".woff2") || name === person.font);
  const list = JSON.stringify(["./", ...shell.map(({ name }) => `./assets/${name}`)]);
  const url = public_url?.replace(/[&"<]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const document = documentOf(person, icon.name, "Relay", [
    ...(url ? [`<meta name="relay-url" content="${url}">`] : []),
    ...(account_creation === "open"
      ? []
      : [`<meta name="relay-account-creation" content="${account_creation}">`]),
    // A proxy with a sign-in of its own in front of the server lets no request without its cookie through.
    '<link rel="manifest" href="manifest.webmanifest" crossorigin="use-credentials">',
    // The home screen of iOS takes no SVG.
    `<link rel="apple-touch-icon" href="assets/${touch.name}">`,
  ]);
  // The worker changes whenever a file that it keeps does.
  const stamp = createHash("sha256").update(document).digest("hex").slice(0, 12);
  return {
    document: serveCompressed(document, PAGE_HEADERS),
    worker: serveCompressed(`// ${stamp}\nconst SHELL=${list};\n${worker}`, {
      ...fixedHeaders("text/javascript; charset=utf-8"),
      ...WORKER_SECURITY,
    }),
    manifest: serveCompressed(
      manifestOf(icon.name, maskable.name),
      fixedHeaders("application/manifest+json"),
    ),
    assets: servedByName(all),
    icon: icon.name,
  };
}

function buildAdmin(bundle: Bundle, icon: string): Pick<Built, "document" | "assets"> {
  const document = documentOf(bundle, icon, "Relay admin", [
    '<meta name="robots" content="noindex">',
  ]);
  return {
    document: serveCompressed(document, PAGE_HEADERS),
    assets: servedByName(bundle.assets),
  };
}

const servedByName = (assets: readonly Asset[]) =>
  new Map(assets.map((asset) => [asset.name, serveAsset(asset)]));

/** Shown if the script has not run after some seconds, as when a proxy keeps it back. */
const NOT_STARTED =
  "This page hasn't started yet. Reload it. If that doesn't help, this browser may be too old, or something between it and the server may block the page's files.";

// Relative addresses, so that it also works behind a proxy that adds a path.
function documentOf(
  { script, style, font }: Bundle,
  icon: string,
  title: string,
  more: readonly string[],
): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#faf9f7" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#141513" media="(prefers-color-scheme: dark)">
<title>${title}</title>
${more.join("\n")}
<link rel="icon" href="assets/${icon}" type="image/svg+xml">
<link rel="preload" href="assets/${font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="assets/${style}">
<script type="module" src="assets/${script}"></script>
</head>
<body>
<div id="root"><p>${title}</p><p>${NOT_STARTED}</p></div>
<noscript>This page needs JavaScript. Everything it does is also available over the <a href="docs">HTTP API</a>.</noscript>
</body>
</html>
`;
}

function manifestOf(icon: string, maskable: string): string {
  const shown = (name: string, purpose: string) => ({
    src: `assets/${name}`,
    type: "image/svg+xml",
    sizes: "any",
    purpose,
  });
  return JSON.stringify({
    name: "Relay",
    short_name: "Relay",
    description: "Questions and tasks from your agents.",
    start_url: "./",
    scope: "./",
    display: "standalone",
    background_color: "#faf9f7",
    theme_color: "#faf9f7",
    icons: [shown(icon, "any"), shown(maskable, "maskable")],
  });
}
