/** Runs a program to its end. */

/** Milliseconds after which it is killed: some build an image. */
const WITHIN = 330_000;

/** Its exit code, and what it wrote to both outputs. It is killed after some minutes, which is a code other than 0. */
export async function run(
  command: readonly string[],
): Promise<{ readonly code: number; readonly text: string }> {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: WITHIN,
    killSignal: "SIGKILL",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, text: (out + err).trim() };
}
