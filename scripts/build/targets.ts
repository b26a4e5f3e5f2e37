/** The platforms of the executables, and the packages that each needs. */

export interface Target {
  /** Name of the platform in the names of the archives. */
  readonly name: string;
  /** Bun's name of the platform. */
  readonly compile: Bun.Build.CompileTarget;
  /** The npm package of Bun for the platform, in the version of Bun that builds. */
  readonly runtime: string;
  /** The npm package of libSQL's native part. */
  readonly native: string;
}

const of = (name: string, compile: Bun.Build.CompileTarget, native: string): Target => ({
  name,
  compile,
  runtime: `@oven/${compile.replace("arm64", "aarch64")}`,
  native: `@libsql/${native}`,
});

export const TARGETS: readonly Target[] = [
  of("linux-x64", "bun-linux-x64", "linux-x64-gnu"),
  of("linux-arm64", "bun-linux-arm64", "linux-arm64-gnu"),
  of("macos-x64", "bun-darwin-x64", "darwin-x64"),
  of("macos-arm64", "bun-darwin-arm64", "darwin-arm64"),
  of("windows-x64", "bun-windows-x64", "win32-x64-msvc"),
  // libSQL has no native part for Windows on Arm, which runs programs for x64.
  of("windows-arm64", "bun-windows-x64", "win32-x64-msvc"),
];

/** Names of systems, where they differ from `process.platform`. */
export const SYSTEMS: Readonly<Record<string, string>> = { darwin: "macos", win32: "windows" };

/** The platform of this process. Throws if there is no executable for it. */
export function ownTarget(): Target {
  const name = `${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`;
  const found = TARGETS.find((target) => target.name === name);
  if (!found) throw new Error(`there is no executable for ${name}`);
  return found;
}
