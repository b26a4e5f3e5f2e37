/** A copy of another commit of this repository, ready to start. */

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Milliseconds for a command, of which an installation from the registry is the slowest. */
const WITHIN = 300_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

function run(command: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], {
    cwd,
    stderr: "pipe",
    timeout: WITHIN,
  });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
  return stdout.toString().trim();
}

/** The full hash of the commit that `name` (a hash, a branch, a tag, `HEAD~3`) stands for, or null. */
export function commitOf(name: string): string | null {
  try {
    const flags = ["--verify", "--quiet", "--end-of-options"];
    return run(["git", "rev-parse", ...flags, `${name}^{commit}`], ROOT);
  } catch {
    return null;
  }
}

/** Puts the files of a commit into the new folder `tree`, and installs what its lockfile says. */
export function checkOut(commit: string, tree: string): void {
  mkdirSync(tree);
  const archive = `${tree}.tar`;
  run(["git", "archive", "--output", archive, commit], ROOT);
  run(["tar", "-xf", archive], tree);
  run([process.execPath, "install", "--frozen-lockfile", "--production", "--silent"], tree);
}
