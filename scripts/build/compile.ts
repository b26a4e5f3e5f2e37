/** Builds the executable: the command line, the server and everything that they load, in one file. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { BunPlugin } from "bun";
import { createPlace } from "../../bench/place.ts";
import { readMigrations } from "../../db/store/migration-files.ts";
import type { Asset } from "../../src/http/pages/asset.ts";
import type { Bundle } from "../../src/http/pages/bundle.ts";
import { readAdmin, readSources } from "../../src/http/pages/sources.ts";
import { SYSTEMS, type Target } from "./targets.ts";

const ROOT = resolve(import.meta.dir, "../..");

/** Modules that read files at run time, and the source that replaces each. */
type Embedded = readonly (readonly [file: string, text: string])[];

/**
 * Prepares what all platforms share: pages, documentation and migrations. Their files are in `folder`, which must exist
 * until the executables are compiled.
 */
async function prepare(folder: string): Promise<Embedded> {
  const [sources, admin] = await Promise.all([readSources(), readAdmin()]);
  let imports = "";
  let count = 0;
  /** Embeds the content as a file, which is loaded into memory only when it is requested. */
  const embed = async ({ name, type, content }: Asset): Promise<string> => {
    const path = join(folder, name);
    const bytes = typeof content === "string" || content instanceof Uint8Array;
    await writeFile(path, bytes ? content : await content.bytes());
    const variable = `file${count++}`;
    imports += `import ${variable} from ${JSON.stringify(path)} with { type: "file" };\n`;
    return `{ name: ${JSON.stringify(name)}, type: ${JSON.stringify(type)}, content: Bun.file(${variable}) }`;
  };
  const embedAll = async (assets: readonly Asset[]): Promise<string> => {
    const made: string[] = [];
    for (const asset of assets) made.push(await embed(asset));
    return `[${made.join(", ")}]`;
  };
  const embedBundle = async ({ assets, ...names }: Bundle): Promise<string> =>
    `{ ...${JSON.stringify(names)}, assets: ${await embedAll(assets)} }`;

  const person = await embedBundle(sources.person);
  const icons = await embedAll(sources.icons);
  const admin_text = await embedBundle(admin);
  const pages = `${imports}
const sources = { person: ${person}, icons: ${icons}, worker: ${JSON.stringify(sources.worker)} };
const admin = ${admin_text};
export const readSources = async () => sources;
export const readAdmin = async () => admin;`;
  const docs = ["swagger-ui.css", "swagger-ui-bundle.js"].map(
    (file, n) => `import file${n} from "swagger-ui-dist/${file}" with { type: "file" };\n`,
  );
  return [
    ["src/http/pages/sources.ts", pages],
    [
      "src/http/openapi/packaged.ts",
      `${docs.join("")}export const packaged = (file) => Bun.file(file === "swagger-ui.css" ? file0 : file1);`,
    ],
    [
      "src/own-program.ts",
      `const systems = ${JSON.stringify(SYSTEMS)};
const { platform, arch, execPath } = process;
export const ownProgram = { path: execPath, platform: \`\${systems[platform] ?? platform}-\${arch}\` };`,
    ],
    [
      "db/store/migration-files.ts",
      `const migrations = ${JSON.stringify(readMigrations())};\nexport const readMigrations = () => migrations;`,
    ],
  ];
}

/** Replaces the modules, and the native part of libSQL, with what the executable contains. */
function embedding(modules: Embedded, native: string): BunPlugin {
  return {
    name: "embed",
    setup(build) {
      for (const [file, text] of modules) {
        const filter = new RegExp(
          `[\\\\/]${file.replaceAll("/", "[\\\\/]").replaceAll(".", "\\.")}$`,
        );
        build.onLoad({ filter }, () => ({ contents: text, loader: "js" }));
      }
      // libSQL chooses its native part at run time, which a bundler cannot follow.
      build.onLoad({ filter: /[\\/]libsql[\\/](index|promise)\.js$/ }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        const dynamic = /return require\(`@libsql\/\$\{target\}`\)/;
        if (!dynamic.test(text)) throw new Error(`${path} loads its native part in another way`);
        return {
          contents: text.replace(dynamic, `return require(${JSON.stringify(native)})`),
          loader: "js",
        };
      });
    },
  };
}

/** Paths of the parts of a target. */
export interface Parts {
  /** Bun for the target; the running one when absent. */
  readonly runtime?: string;
  /** The native part of libSQL for the target. */
  readonly native: string;
}

/** Writes the executable of each target to its `outfile`. Throws the bundler's first error. */
export async function compileAll(
  jobs: readonly { readonly target: Target; readonly parts: Parts; readonly outfile: string }[],
): Promise<void> {
  const place = createPlace("relay-build");
  try {
    const modules = await prepare(place.folder);
    for (const { target, parts, outfile } of jobs) {
      await mkdir(resolve(outfile, ".."), { recursive: true });
      await Bun.build({
        entrypoints: [join(ROOT, "src/cli/main.ts")],
        target: "bun",
        bytecode: true,
        format: "esm",
        minify: { whitespace: true, syntax: true },
        // Some libraries read this variable.
        define: { "process.env.NODE_ENV": '"production"' },
        plugins: [embedding(modules, parts.native)],
        compile: {
          target: target.compile,
          outfile,
          ...(parts.runtime !== undefined && { executablePath: parts.runtime }),
          // Files in the folder where the executable starts do not configure it.
          autoloadDotenv: false,
          autoloadBunfig: false,
        },
      });
    }
  } finally {
    await place.end();
  }
}
