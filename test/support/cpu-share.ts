/** How much slower the machine runs a process because others use its cores, for tests of a time that people notice. */

/** A process that uses the CPU for 2 ms, ten times a second, and adds up how long that took. */
const PROBE = `
  let cpu = 0, wall = 0;
  const cpuTime = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const measure = () => {
    const begin = performance.now(), first = cpuTime();
    while (cpuTime() - first < 2);
    wall += performance.now() - begin;
    cpu += cpuTime() - first;
  };
  measure();
  const timer = setInterval(measure, 100);
  for await (const _ of Bun.stdin.stream());
  clearInterval(timer);
  measure();
  console.log(Math.max(1, wall / cpu));
`;

/**
 * Starts to measure. The function that it returns ends that, and resolves to the factor by which a process was slowed
 * down meanwhile: 1 on an idle machine, 10 if it got a tenth of a core.
 */
export function measureSlowdown(): () => Promise<number> {
  const child = Bun.spawn([process.execPath, "-e", PROBE], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  return async () => {
    child.stdin.end();
    return Number(await new Response(child.stdout).text());
  };
}
