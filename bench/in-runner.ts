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
}

/** Runs `file`, a path in the checkout. Lines of the runner itself are not shown. */
export async function inTestRunner(file: string, options: RunnerOptions) {
  const { env, minutes, tree = ROOT, quiet = false } = options;
  const timeout = String(Math.round(minutes * 60_000));
  const child = Bun.spawn([process.execPath, "test", "--timeout", timeout, `./${file}`], {
    cwd: tree,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const end = () => child.kill("SIGKILL");
  process.on("exit", end);
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
  process.off("exit", end);
  return { code, out, errors };
}

/** Builds the executable into `file`: servers start from it in half of the CPU time of the sources. */
export async function buildExecutable(file: string, tree = ROOT): Promise<void> {
  const child = Bun.spawn([process.execPath, "run", "build", file], {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error("the executable was not built");
}
