/** Runs a program to its end. */

/** Its exit code, and what it wrote to both outputs. */
export async function run(
  command: readonly string[],
): Promise<{ readonly code: number; readonly text: string }> {
  const child = Bun.spawn([...command], { stdio: ["ignore", "pipe", "pipe"] });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, text: (out + err).trim() };
}
