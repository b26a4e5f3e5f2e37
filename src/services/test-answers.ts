/** Answers to the tests of channels: they prove that the person reads the channel (§19.2.10). */

import { channelReached, reachedAt } from "../../db/notify/replies.ts";
import { LIMITS } from "../limits.ts";
import { CHOICES, readCode, timeOfTest } from "../notify/core/codes.ts";
import { CLOCKS_DIFFER, type ServiceDeps } from "./shared/deps.ts";

export type TestAnswers = ReturnType<typeof createTestAnswers>;

export function createTestAnswers({
  store,
  clock,
  signer,
}: Pick<ServiceDeps, "store" | "clock" | "signer">) {
  return {
    /**
     * Records that the test with this code was answered, and returns when the channel last reached the person (epoch
     * seconds). A repeated code, or one of an earlier test, changes nothing. Null for a code that is forged, of another
     * channel or older than `channel_test_life`, and for a channel that is gone.
     */
    async answer(channel_id: string, code: string): Promise<number | null> {
      const said = readCode(signer, code, channel_id);
      if (said?.choice !== CHOICES.test) return null;
      const asked_at = timeOfTest(said.subject);
      const now = clock.now();
      const age = now - asked_at;
      if (age > LIMITS.channel_test_life || age < -CLOCKS_DIFFER) return null;
      // The clock of the process that sent it may be ahead. A later time than the test's ends its code.
      const [reached] = await store.write([
        channelReached({ channel_id, asked_at, reached_at: Math.max(now, asked_at) }),
      ]);
      const [found] = reached!.changes > 0 ? [] : await store.read(reachedAt({ channel_id }));
      if (found) return found[0] / 1_000;
      return reached!.changes > 0 ? Math.max(now, asked_at) : null;
    },
  };
}
