/** `relay rekey`: changes the key by which the store of a server is encrypted. */

import { ConfigError, readConfig } from "../config.ts";
import { cannotOpen, readNamedFile, refusedStore, withSecretFiles } from "../config-files.ts";
import { encryptionKey } from "../config-values.ts";
import { Fault, type Io } from "./io.ts";

interface RekeyOptions {
  /** Path of a file with the new key. */
  readonly newKeyFile?: string;
  /** True: not encrypted from now on. */
  readonly removeKey?: boolean;
}

const DAY = 86_400;

/** The store and its present key come from the environment, as for `relay serve`. */
export const rekeyStore = (io: Io, options: RekeyOptions): Promise<void> =>
  change(io, options).catch((error: unknown) => {
    throw error instanceof ConfigError ? new Fault(error.message) : error;
  });

async function change(io: Io, { newKeyFile, removeKey }: RekeyOptions): Promise<void> {
  if ((newKeyFile === undefined) === (removeKey !== true)) {
    throw new Fault("give either --new-key-file or --remove-key");
  }
  const env = await withSecretFiles(io.env);
  // Other variables do not matter here, and may be set for the server alone.
  const config = readConfig({
    DATABASE_URL: env.DATABASE_URL,
    DATABASE_AUTH_TOKEN: env.DATABASE_AUTH_TOKEN,
    DATABASE_ENCRYPTION_KEY: env.DATABASE_ENCRYPTION_KEY,
  });
  const from = config.DATABASE_ENCRYPTION_KEY;
  const to = newKeyFile === undefined ? undefined : await readKey(newKeyFile);
  if (to === undefined && from === undefined) {
    throw new Fault("DATABASE_ENCRYPTION_KEY must be set to the key that is to be removed");
  }
  const { rekey } = await import("../../db/rekey.ts");
  const { DATABASE_URL: url, DATABASE_AUTH_TOKEN: auth_token } = config;
  const clock = { ...io.timers, now: io.now, wall: io.now };
  // A statement in a thread of the store's binding keeps no process alive.
  const cancel = clock.after(DAY, () => {});
  const { kept } = await rekey({ url, auth_token, from, to, clock })
    .catch((error: unknown) => {
      const is_refused = error instanceof Error && error.name === "RefusedStore";
      throw is_refused ? refusedStore(url, error.message) : cannotOpen(url, error);
    })
    .finally(cancel);
  const next =
    newKeyFile === undefined
      ? "The store is no longer encrypted. Start Relay without DATABASE_ENCRYPTION_KEY."
      : `The store is encrypted with the new key. Start Relay with DATABASE_ENCRYPTION_KEY_FILE=${newKeyFile}.`;
  io.out(`${next}\n`);
  if (kept !== null) {
    io.out(`The file as it was is ${kept}. Delete it once Relay has started.\n`);
  }
}

async function readKey(path: string): Promise<Uint8Array> {
  const text = (await readNamedFile("--new-key-file", path)).trimEnd();
  const { data, error } = encryptionKey.safeParse(text);
  if (error) throw new Fault(`--new-key-file: ${error.issues[0]?.message}`);
  return data;
}
