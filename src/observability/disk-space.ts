/** Space of the disk with the store's file, for the metrics and the admin page. */

import { statfs } from "node:fs/promises";
import type { Clock } from "../clock.ts";

/** Bytes that the process may still write, and all bytes of the file system. */
export interface DiskSpace {
  readonly free: number;
  readonly size: number;
}

/** Seconds for which a reading holds. */
const KEPT_FOR = 1;
/** Seconds after which a disk that does not answer is left out. */
const WITHIN = 1;

/**
 * Reads the space of the disk with `folder`; null without a folder, if the file system does not tell, and while it does
 * not answer. At most one reading is under way, since each that hangs would keep a thread.
 */
export function createDiskSpace(
  folder: string | null,
  timers: Pick<Clock, "elapsed" | "after">,
): () => Promise<DiskSpace | null> {
  let kept: { readonly until: number; readonly space: DiskSpace | null } | undefined;
  let reading: Promise<DiskSpace | null> | undefined;

  const read = async (path: string): Promise<DiskSpace | null> => {
    const disk = await statfs(path).catch(() => null);
    const space =
      disk && disk.blocks > 0
        ? { free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }
        : null;
    kept = { until: timers.elapsed() + KEPT_FOR, space };
    return space;
  };

  return async () => {
    if (folder === null) return null;
    if (kept && timers.elapsed() < kept.until) return kept.space;
    reading ??= read(folder).finally(() => {
      reading = undefined;
    });
    const late = Promise.withResolvers<null>();
    const cancel = timers.after(WITHIN, () => late.resolve(null));
    return Promise.race([reading, late.promise]).finally(cancel);
  };
}
