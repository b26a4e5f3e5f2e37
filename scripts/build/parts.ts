/** Installs the parts of other platforms' executables from the package registry, as bun.lock pins them. */

import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Parts } from "./compile.ts";
import type { Target } from "./targets.ts";

/** Milliseconds for the downloads. */
const INSTALL_WITHIN = 600_000;
const ROOT = resolve(import.meta.dir, "../..");

/** Reads `name -> [version, integrity]` of the packages in a bun.lock. */
export async function lockedPackages(
  path: string,
): Promise<ReadonlyMap<string, readonly [version: string, integrity: string]>> {
  const text = await Bun.file(path).text();
  // One line each: "name": ["name@version", "", {…}, "sha512-…"],
  const lines = text.matchAll(/^ {4}"([^"]+)": \["\1@([^"]+)", "[^"]*",.* "(sha512-[^"]+)"\],?$/gm);
  return new Map([...lines].map(([, name, version, sum]) => [name!, [version!, sum!]]));
}

/**
 * Installs the packages of the targets into `folder`, for any platform, without running their scripts. Throws if one
 * is not as the project's bun.lock pins it.
 */
export async function fetchParts(targets: readonly Target[], folder: string) {
  const pinned = await lockedPackages(join(ROOT, "bun.lock"));
  const dependencies: Record<string, string> = {};
  for (const name of targets.flatMap(({ runtime, native }) => [runtime, native])) {
    const found = pinned.get(name);
    if (!found) throw new Error(`bun.lock does not pin ${name}`);
    dependencies[name] = found[0];
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  const command = ["install", "--ignore-scripts", "--silent", "--os=*", "--cpu=*"];
  const install = Bun.spawn([process.execPath, ...command], {
    cwd: folder,
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    timeout: INSTALL_WITHIN,
  });
  if ((await install.exited) !== 0) throw new Error("the packages could not be installed");
  const installed = await lockedPackages(join(folder, "bun.lock"));
  for (const name of Object.keys(dependencies)) {
    if (installed.get(name)?.join() !== pinned.get(name)!.join()) {
      throw new Error(`${name} is not as bun.lock pins it`);
    }
  }
  return ({ runtime, native }: Target): Parts => {
    const program = runtime.includes("windows") ? "bun.exe" : "bun";
    return {
      runtime: join(folder, "node_modules", runtime, "bin", program),
      native: join(folder, "node_modules", native, "index.node"),
    };
  };
}
