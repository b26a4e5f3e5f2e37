/** Runs a file in Bun's test runner, which the stand-ins of the tests need to end themselves. */

import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface RunnerOptions {
  readonly env: Record<string, string>;
  /** Minutes after which it counts as hung. */
  readonly minutes: number;
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

/** Runs `file`, a path in the checkout, which takes its processes with it when it or this process ends. */
export async function inTestRunner(file: string, options: RunnerOptions) {
  const { env, minutes, tree = ROOT, quiet = false, mounts = false } = options;
  const timeout = String(Math.round(minutes * 60_000));
  const runner = [process.execPath, "test", "--no-orphans", "--timeout", timeout, `./${file}`];
  const child = Bun.spawn([...(mounts ? ownMounts() : []), ...runner], {
    cwd: tree,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let interrupted = false;
  const end = () => {
    interrupted = true;
    child.kill("SIGTERM");
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, end);
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
  const code = await child.exited;
  for (const signal of signals) process.off(signal, end);
  if (interrupted) throw new Error("interrupted");
  return { code, out, errors };
}

/** Builds the executable into `file`: servers start from it in half of the CPU time of the sources. */
export async function buildExecutable(file: string, tree = ROOT): Promise<void> {
  const child = Bun.spawn([process.execPath, "--no-orphans", "run", "build", file], {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error("the executable was not built");
}
