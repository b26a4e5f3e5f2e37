/** The files that the command line keeps, readable by their owner only. */

import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readTextFile } from "../bounded-read.ts";
import { randomText } from "../client/idempotency.ts";
import { Fault, type Io } from "./io.ts";

type Machine = Pick<Io, "env" | "platform" | "home">;

/** The folder in which the system's programs keep their configuration. */
export function systemFolder({ env, platform, home }: Machine): string {
  if (platform === "win32") return env.APPDATA || join(home, "AppData", "Roaming");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  const folder = env.XDG_CONFIG_HOME;
  // XDG ignores a path that is not absolute.
  return folder?.startsWith("/") ? folder : join(home, ".config");
}

/** Relay's own folder there. */
export const configFolder = (machine: Machine): string =>
  join(systemFolder(machine), ["win32", "darwin"].includes(machine.platform) ? "Relay" : "relay");

/** Access by OAuth (§18.5). */
const OAuthAccess = z.object({
  kind: z.literal("oauth"),
  url: z.string(),
  client_id: z.string(),
  access_token: z.string(),
  refresh_token: z.string(),
  /** Epoch seconds at which the access token ends. */
  expires_at: z.number(),
});
export type OAuthAccess = z.infer<typeof OAuthAccess>;

const KeyAccess = z.object({ kind: z.literal("key"), url: z.string(), key: z.string() });
const Access = z.discriminatedUnion("kind", [OAuthAccess, KeyAccess]);
/** The address of a server, and the credential for it. */
type Access = z.infer<typeof Access>;

const pathOf = (io: Io): string => join(configFolder(io), "access.json");

interface WriteOptions {
  /** Mode of the file; 600 when absent. */
  readonly mode?: number;
  readonly owner?: { readonly uid: number; readonly gid: number } | null;
  /** Mode of folders that are made. */
  readonly folder_mode?: number;
  /** Runs just before the file is replaced, and may throw. */
  readonly check?: () => Promise<void>;
}

/** Writes a temporary file beside the path and renames it, so that the file is replaced as a whole or not at all. */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, owner, folder_mode = 0o777, check }: WriteOptions = {},
): Promise<void> {
  const temporary = `${path}.${randomText(6)}`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: folder_mode });
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(content);
      const { uid, gid } = await file.stat();
      if (owner && (uid !== owner.uid || gid !== owner.gid)) {
        await file.chown(owner.uid, owner.gid);
      }
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await check?.();
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Writes a file of mode 600 in a folder of mode 700. */
export const writePrivate = (path: string, text: string): Promise<void> =>
  writeWhole(path, text, { folder_mode: 0o700 });

/** Bytes of a file that Relay itself writes. */
const JSON_BYTES = 1024 * 1024;

/** Reads a file of JSON; null if there is none, undefined if it is not JSON. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readTextFile(path, JSON_BYTES));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The stored access; null if there is none. */
export async function readAccess(io: Io): Promise<Access | null> {
  const kept = await readJson(pathOf(io));
  if (kept === null) return null;
  const { success, data } = Access.safeParse(kept);
  if (!success) throw new Fault(`${pathOf(io)} cannot be read: run relay login <url> again`);
  return data;
}

export const keepAccess = (io: Io, access: Access): Promise<void> =>
  writePrivate(pathOf(io), `${JSON.stringify(access, null, 2)}\n`);

export const forgetAccess = (io: Io): Promise<void> => rm(pathOf(io), { force: true });
