/**
 * Which question a command waits for, on disk before it is asked: a command that was killed and is started again
 * then gets that question instead of a second (§5.7.2(6)).
 */

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { createIdempotencyKey } from "../client/idempotency.ts";
import type { Io } from "./io.ts";
import { configFolder, readJson, writePrivate } from "./settings.ts";

const Pending = z.object({ request_id: z.string(), pid: z.int(), expires_at: z.number() });

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Gives the `request_id` for this content at this server: that of a command that ended without an answer,
 * or a new one. `forget` is called once the question is settled. While another command waits for the same
 * content, each has its own question.
 */
export async function claimAsk(io: Io, url: string, content: object, life: number) {
  const name = createHash("sha256")
    .update(JSON.stringify([url, content]))
    .digest("hex");
  const path = join(configFolder(io), "asks", `${name}.json`);
  // Without a folder that can be written, as in a container, a question is asked all the same.
  const kept = await readJson(path).catch(() => null);
  const { data: found } = Pending.safeParse(kept);
  const is_live = found !== undefined && found.expires_at > io.now();
  if (is_live && found.pid !== process.pid && isRunning(found.pid)) {
    return { request_id: createIdempotencyKey(), forget: async () => {} };
  }
  const pending = {
    request_id: is_live ? found.request_id : createIdempotencyKey(),
    pid: process.pid,
    expires_at: is_live ? found.expires_at : io.now() + life,
  };
  await writePrivate(path, JSON.stringify(pending)).catch(() => {});
  return {
    request_id: pending.request_id,
    forget: () => rm(path, { force: true }).catch(() => {}),
  };
}
