/** Runs a file in Bun's test runner, which the stand-ins of the tests need to end themselves. */

import { fileURLToPath } from "node:url";
import type { Place } from "./place.ts";
import { within } from "./within.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface RunnerOptions {
  readonly env: Record<string, string>;
  /** Minutes after which it counts as hung. */
  readonly minutes: number;
  /** Has its temporary files, which a runner that is ended leaves behind. Ends the runner. */
  readonly place: Place;
  /** The checkout with the file; this one when absent. */
  readonly tree?: string;
  /** True: its output is returned, and not printed. */
  readonly quiet?: boolean;
  /** True: what it mounts goes with it, if the machine permits that. */
  readonly mounts?: boolean;
}

/** A command in front of another, whose mounts nobody else sees; empty where that is not permitted. */
function ownMounts(): string[] {
  const command = ["unshare", "--mount"];
  try {
    const tried = Bun.spawnSync([...command, "true"], { stdio: ["ignore", "ignore", "ignore"] });
    return tried.exitCode === 0 ? command : [];
  } catch {
    return [];
  }
}

/** Minutes for a build, and those that a runner gets after its test counts as hung. */
const BUILD = 5;
const GRACE = 1;
/** Seconds in which an interrupted runner must have ended its processes. */
const LEAVE = 10;

/** Runs `file`, a path in the checkout, which takes its processes with it when it or this process ends. */
export async function inTestRunner(file: string, options: RunnerOptions) {
  const { env, minutes, place, tree = ROOT, quiet = false, mounts = false } = options;
  const timeout = String(Math.round(minutes * 60_000));
  const runner = [process.execPath, "test", "--no-orphans", "--timeout", timeout, `./${file}`];
  const child = Bun.spawn([...(mounts ? ownMounts() : []), ...runner], {
    cwd: tree,
    env: { ...process.env, TMPDIR: place.folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: (minutes + GRACE) * 60_000,
  });
  place.first.push(async () => {
    child.kill("SIGTERM");
    await within(LEAVE, "the end of the test runner", child.exited);
  });
  place.children.push(child);
  let out = "";
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of child.stdout) {
      const text = decoder.decode(chunk, { stream: true });
      out += text;
      if (!quiet) process.stdout.write(text);
    }
  };
  const [errors] = await Promise.all([new Response(child.stderr).text(), read()]);
  return { code: await child.exited, out, errors };
}

/** Builds the executable into `file`: servers start from it in half of the CPU time of the sources. */
export async function buildExecutable(file: string, tree = ROOT): Promise<void> {
  const child = Bun.spawn([process.execPath, "--no-orphans", "run", "build", file], {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit"],
    timeout: BUILD * 60_000,
    killSignal: "SIGKILL",
  });
  if ((await child.exited) !== 0) throw new Error("the executable was not built");
}
