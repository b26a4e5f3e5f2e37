/** Whether the folder of the automatic backups can take one, before one is begun. */

import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { showPath, thisUser } from "../config-files.ts";
import { codeOf } from "../log.ts";

/** Room that must be left beside a backup: a part of the disk, or bytes, whichever is less. */
const SPARE = { part: 0.02, bytes: 2e8 } as const;

/** Why no backup can be made, in words without a secret. */
export class BackupFault extends Error {
  override readonly name = "BackupFault";
  /** True if it was found before a backup was begun, so that looking again costs nothing. */
  readonly is_early: boolean;

  constructor(message: string, { is_early = false }: { readonly is_early?: boolean } = {}) {
    super(message);
    this.is_early = is_early;
  }
}

const early = (message: string) => new BackupFault(message, { is_early: true });

/**
 * Rejects with a {@link BackupFault} if the folder cannot be written to. A missing one is not created: its disk may not
 * be mounted, and the backups would fill another one.
 */
export async function assertWritableFolder(folder: string): Promise<void> {
  const shown = showPath(folder);
  try {
    if (!(await stat(folder)).isDirectory()) throw early(`${shown} is not a folder`);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof BackupFault) throw error;
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw early(`there is no folder ${shown}; create it, or mount its disk`);
    }
    if (code === "EROFS") throw early(`the disk of ${shown} is read-only`);
    if (code === "EACCES" || code === "EPERM") {
      throw early(`the user ${thisUser()} may not write to ${shown} (${code})`);
    }
    throw early(`the folder ${shown} cannot be used (${code || "unknown"})`);
  }
}

/** Rejects with a {@link BackupFault} if `bytes` would fill the disk of the folder, which may be that of the store. */
export async function assertRoomFor(bytes: number, folder: string): Promise<void> {
  const { bavail, bsize, blocks } = await statfs(folder);
  // Some file systems do not tell.
  if (blocks === 0) return;
  const spare = Math.min(blocks * bsize * SPARE.part, SPARE.bytes);
  const free = bavail * bsize;
  if (free - bytes >= spare) return;
  const megabytes = (some: number) => `${Math.ceil(some / 1e6)} MB`;
  throw early(
    `there is too little room in ${showPath(folder)}: a backup takes up to ${megabytes(bytes)}, ${megabytes(spare)} must be left, and ${megabytes(free)} are free`,
  );
}
