/** Makes what a web page loads out of `src/web`: scripts, styles and fonts, in memory alone. */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";
import type { Asset } from "./asset.ts";

/** Folder of the pages' sources, as a path. */
export const WEB = fileURLToPath(new URL("../../web/", import.meta.url));

const FONTS = "@fontsource-variable/inter/files/";
/** The font file that every page needs, so that it is asked for at once. */
const FIRST_FONT = "inter-latin-wght-normal.woff2";

/** The names of what a page's document refers to, and everything that it may load. */
export interface Bundle {
  readonly script: string;
  readonly style: string;
  readonly font: string;
  readonly assets: readonly Asset[];
}

/** Bundles the page whose entry is this file of `src/web`; throws when it has a fault. */
export async function bundlePage(entry: string): Promise<Bundle> {
  const { outputs } = await Bun.build({
    entrypoints: [WEB + entry],
    target: "browser",
    minify: true,
    // What is loaded later is a file of its own.
    splitting: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
    // React's build for use, not the one for finding faults.
    define: { "process.env.NODE_ENV": '"production"' },
    // Bun would write them into the styles as data: URLs, which the policy refuses.
    external: ["*.woff2"],
    plugins: [tailwind],
  });
  const assets: Asset[] = [];
  let script = "";
  let style = "";
  for (const output of outputs) {
    const name = output.path.replace(/^.*\//, "");
    const is_style = name.endsWith(".css");
    const text = await output.text();
    if (output.kind === "entry-point") script = name;
    if (is_style) style = name;
    assets.push({
      name,
      type: is_style ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
      content: is_style ? await withFonts(text, assets) : text,
    });
  }
  const font = assets.find(({ name }) => name.startsWith(FIRST_FONT.slice(0, -6)))?.name;
  if (!script || !style || !font) throw new Error("a page has a script, a style and a font");
  return { script, style, font, assets };
}

/** Bundles one file of `src/web` to a script that runs by itself. */
export async function bundleScript(entry: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [WEB + entry],
    target: "browser",
    format: "iife",
    minify: true,
  });
  return await outputs[0]!.text();
}

/** A file named by its content. */
export async function assetOf(path: string, type: string): Promise<Asset> {
  const content = await Bun.file(path).bytes();
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  return { name: path.replace(/^.*\/(.*)(\.\w+)$/, `$1-${hash}$2`), type, content };
}

/** The styles with the names that their fonts are served by; adds these to the assets. */
async function withFonts(css: string, assets: Asset[]): Promise<string> {
  const names = new Map<string, string>();
  for (const [, file] of css.matchAll(/url\("?[^()"]*\/([\w-]+\.woff2)"?\)/g)) {
    const path = fileURLToPath(import.meta.resolve(FONTS + file));
    const asset = await assetOf(path, "font/woff2");
    names.set(file!, asset.name);
    assets.push(asset);
  }
  return css.replace(
    /url\("?[^()"]*\/([\w-]+\.woff2)"?\)/g,
    (_, file: string) => `url(${names.get(file)})`,
  );
}

/** Tailwind's compiler by itself: its own scanner would be a native binary for each platform. */
const tailwind: BunPlugin = {
  name: "tailwind",
  setup(build) {
    build.onLoad({ filter: /[\\/]web[\\/]styles\.css$/ }, async ({ path }) => {
      const { compile } = await import("tailwindcss");
      const { build: generate } = await compile(await Bun.file(path).text(), {
        base: WEB,
        async loadStylesheet(id, base) {
          const file = id === "tailwindcss" ? "tailwindcss/index.css" : id;
          const path = fileURLToPath(import.meta.resolve(file));
          return { path, base, content: await Bun.file(path).text() };
        },
      });
      return { contents: generate(await candidates()), loader: "css" };
    });
  },
};

/** Every word of the sources that may be a class; other words make no style. */
async function candidates(): Promise<string[]> {
  const found = new Set<string>();
  for await (const name of new Bun.Glob("**/*.{ts,tsx}").scan(WEB)) {
    const text = await Bun.file(WEB + name).text();
    for (const [word] of text.matchAll(/[^\s"'`]+/g)) found.add(word);
  }
  return [...found].sort();
}
