/** Bundles `src/web` in memory to what a web page loads: scripts, styles and fonts. */

import { fileURLToPath } from "node:url";
import type { BunPlugin } from "bun";
import { type Asset, contentHash, TEXT_TYPES } from "./asset.ts";

/** Path of the folder with the sources of the pages. */
export const WEB = fileURLToPath(new URL("../../web/", import.meta.url));

const FONTS = "@fontsource-variable/inter/files/";
/** The font that every page needs, and preloads. */
const FIRST_FONT = "inter-latin-wght-normal.woff2";

/** Names of the files that a document refers to, and all files that the page may load. */
export interface Bundle {
  readonly script: string;
  readonly style: string;
  readonly font: string;
  readonly assets: readonly Asset[];
}

/** `entry`: a file of `src/web`. Throws if the page cannot be bundled. */
export async function bundlePage(entry: string): Promise<Bundle> {
  const { outputs } = await Bun.build({
    entrypoints: [WEB + entry],
    target: "browser",
    minify: true,
    // Imports that load later become files of their own.
    splitting: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
    define: { "process.env.NODE_ENV": '"production"' },
    // Bun would inline fonts as data: URLs, which the content policy blocks.
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
      type: TEXT_TYPES[is_style ? "css" : "js"],
      content: is_style ? await withFonts(text, assets) : text,
    });
  }
  const font = assets.find(({ name }) => name.startsWith(FIRST_FONT.slice(0, -6)))?.name;
  if (!script || !style || !font) throw new Error("a page has a script, a style and a font");
  return { script, style, font, assets };
}

/** Bundles one file of `src/web` to a script without imports. */
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
  const name = path.replace(/^.*\/(.*)(\.\w+)$/, `$1-${contentHash(content)}$2`);
  return { name, type, content };
}

/** Replaces the addresses of fonts by the names that they are served under, and adds them to the assets. */
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

/** Tailwind's compiler with {@link candidates} as its scanner: Tailwind's own is a native binary for each platform. */
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

/** Every word of the sources: those that are not classes make no style. */
async function candidates(): Promise<string[]> {
  const found = new Set<string>();
  for await (const name of new Bun.Glob("**/*.{ts,tsx}").scan(WEB)) {
    const text = await Bun.file(WEB + name).text();
    for (const [word] of text.matchAll(/[^\s"'`]+/g)) found.add(word);
  }
  return [...found].sort();
}
