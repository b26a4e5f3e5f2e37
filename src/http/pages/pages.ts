/** The web pages, each a document and the files that it loads (§5.12.3). */

import { createHash } from "node:crypto";
import { fail } from "../../errors.ts";
import type { OwnProgram } from "../../own-program.ts";
import type { RequestScope } from "../request-scope.ts";
import type { Handler } from "../rest.ts";
import { API_SECURITY, PAGE_SECURITY, WORKER_SECURITY } from "../security.ts";
import { type Asset, serveAsset, serveCompressed } from "./asset.ts";
import type { Bundle } from "./bundle.ts";
import { readAdmin, readSources, type Sources } from "./sources.ts";

interface PagesOptions {
  /** The address at which agents reach this server. Undefined: the page shows its own address. */
  readonly public_url: string | undefined;
  /** Who can create an account (§5.2.1). */
  readonly account_creation: "open" | "first" | "off";
  /** True if the first account exists or existed, after which `first` permits no other. */
  readonly hadFirstAccount: () => Promise<boolean>;
  /** The program that this server hands out; null if it has none. */
  readonly program: OwnProgram | null;
  /** True if the server can notify devices, which an app registers (§14). */
  readonly devices: boolean;
  /** True if there is a page for the admin. */
  readonly admin: boolean;
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

/** Makes a value once for all callers, when it is first needed. A failure is not kept. */
function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
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

/** Shared by all servers of the process. Made at the first request, as it takes a second. */
const sources = lazily(readSources);
const adminSource = lazily(readAdmin);

/** The routes of the pages. If a page cannot be made, only the request fails. */
export function createPages({
  public_url,
  account_creation,
  hadFirstAccount,
  program,
  devices,
  admin,
}: PagesOptions): Record<string, { GET: Handler }> {
  const getFor = (mode: PagesOptions["account_creation"]) =>
    lazily(async () =>
      build(await sources(), { public_url, program, account_creation: mode, devices }),
    );
  const get = getFor(account_creation);
  const getClosed = getFor("off");
  let is_closed = false;
  /** The page that offers an account only while one can be created. */
  const getCurrent = async () => {
    if (account_creation !== "first") return get();
    // Without the store, the page offers an account; the server may still reject it.
    is_closed ||= await hadFirstAccount().catch(() => false);
    return is_closed ? getClosed() : get();
  };
  const getAdmin = lazily(async () => {
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
  {
    public_url,
    program,
    account_creation,
    devices,
  }: Pick<PagesOptions, "public_url" | "program" | "account_creation" | "devices">,
) {
  const [icon, maskable, touch] = icons as [Asset, Asset, Asset];
  const all = [...person.assets, ...icons];
  // The files that the page needs to open without the server. Other fonts are kept once they are used.
  const shell = all.filter(({ name }) => !name.endsWith(".woff2") || name === person.font);
  const list = JSON.stringify(["./", ...shell.map(({ name }) => `./assets/${name}`)]);
  const url = public_url?.replace(/[&"<]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const document = documentOf(person, icon.name, "Relay", [
    ...(url ? [`<meta name="relay-url" content="${url}">`] : []),
    ...(program ? [`<meta name="relay-program" content="${program.platform}">`] : []),
    ...(account_creation === "open"
      ? []
      : [`<meta name="relay-account-creation" content="${account_creation}">`]),
    ...(devices ? ['<meta name="relay-devices" content="on">'] : []),
    // A proxy with its own sign-in in front of the server rejects requests without its cookie.
    '<link rel="manifest" href="manifest.webmanifest" crossorigin="use-credentials">',
    // The home screen of iOS does not support SVG.
    `<link rel="apple-touch-icon" href="assets/${touch.name}">`,
  ]);
  // The worker changes whenever a file that it keeps changes.
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

function buildAdmin(bundle: Bundle, icon: string) {
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

/** Shown if the script has not run after some seconds, for example because a proxy blocks it. */
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
