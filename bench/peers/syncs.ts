/** Counts with strace how often a process syncs a file: whether what it acknowledges is on disk. */

import { STRACE } from "../strace.ts";
import { within } from "../within.ts";

/** Seconds for strace to attach to a process, and to leave it. */
const STRACE_WITHIN = 20;

/** The `fsync` and `fdatasync` calls of a process during `act`; undefined without strace. */
export async function syncsOf(pid: number, act: () => Promise<void>): Promise<number | undefined> {
  if (!STRACE) return undefined;
  const tracer = Bun.spawn([STRACE, "-f", "-e", "trace=fsync,fdatasync", "-p", `${pid}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const attached = Promise.withResolvers<void>();
  const traced = (async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of tracer.stderr) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes(" attached")) attached.resolve();
    }
    attached.reject(new Error(`strace ended: ${text}`));
    return text;
  })();
  try {
    await within(STRACE_WITHIN, "strace", attached.promise);
    await act();
  } finally {
    tracer.kill("SIGINT");
    await within(STRACE_WITHIN, "the end of strace", tracer.exited).finally(() =>
      tracer.kill("SIGKILL"),
    );
  }
  return (await traced).match(/\bf(data)?sync\(/g)?.length ?? 0;
}
