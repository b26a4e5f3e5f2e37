/** How much slower the machine runs a process because of others, for tests of a time that people notice. */

/**
 * A process that uses the CPU for 2 ms, ten times a second, and adds up how long that took. What delays it by more than
 * {@link LATE} otherwise is a machine that stood still.
 */
const PROBE = `
  let cpu = 0, wall = 0, stopped = 0, due = performance.now();
  const cpuTime = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const measure = () => {
    const begin = performance.now(), first = cpuTime();
    if (begin - due > LATE) stopped += begin - due;
    while (cpuTime() - first < 2);
    due = performance.now() + 100;
    wall += performance.now() - begin;
    cpu += cpuTime() - first;
  };
  const next = () => { measure(); timer = setTimeout(next, 100); };
  let timer = setTimeout(next, 0);
  console.log("begun");
  for await (const _ of Bun.stdin.stream());
  clearTimeout(timer);
  measure();
  console.log(JSON.stringify([Math.max(1, wall / cpu), stopped / 1000]));
`;

/** Milliseconds by which a timer may be late on a machine that runs. */
const LATE = 200;

/**
 * Begins to measure. The function that this resolves to ends that, and says how many seconds something may have taken
 * meanwhile that may take `seconds` on an idle machine.
 */
export async function measureSlowdown(): Promise<(seconds: number) => Promise<number>> {
  const child = Bun.spawn([process.execPath, "-e", PROBE.replace("LATE", String(LATE))], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = child.stdout.getReader();
  const read = async () => new TextDecoder().decode((await output.read()).value);
  await read();
  return async (seconds) => {
    child.stdin.end();
    const [slowdown, stopped] = JSON.parse(await read()) as [number, number];
    return seconds * slowdown + stopped;
  };
}
