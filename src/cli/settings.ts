/** Files of the command line in the system's folder for configuration, for their owner only. */

import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { randomText } from "../client/idempotency.ts";
import { Fault, type Io } from "./io.ts";

/** The folder for configuration by the custom of the system. */
export function configFolder({ env, platform, home }: Pick<Io, "env" | "platform" | "home">) {
  if (platform === "win32") return join(env.APPDATA || join(home, "AppData", "Roaming"), "Relay");
  if (platform === "darwin") return join(home, "Library", "Application Support", "Relay");
  const folder = env.XDG_CONFIG_HOME;
  // The specification of XDG ignores a path that is not absolute.
  return join(folder?.startsWith("/") ? folder : join(home, ".config"), "relay");
}

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
/** How to reach a server, and as whom. */
export type Access = z.infer<typeof Access>;

const pathOf = (io: Io): string => join(configFolder(io), "access.json");

/** Writes the whole file or nothing of it, with mode 600 in a folder of mode 700. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomText(6)}`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** A file of JSON; null if there is none. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The access that was kept; null if there is none. */
export async function readAccess(io: Io): Promise<Access | null> {
  const kept = await readJson(pathOf(io));
  if (kept === null) return null;
  const { success, data } = Access.safeParse(kept);
  if (!success) throw new Fault(`${pathOf(io)} cannot be read: run relay login <url> again`);
  return data;
}

export const keepAccess = (io: Io, access: Access): Promise<void> =>
  writePrivate(pathOf(io), `${JSON.stringify(access, null, 2)}\n`);

/** Forgets it. */
export const forgetAccess = (io: Io): Promise<void> => rm(pathOf(io), { force: true });
