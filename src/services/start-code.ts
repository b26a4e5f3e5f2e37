/** The start code, with which the first account of a store is created (§5.2.1). */

import { timingSafeEqual } from "node:crypto";
import { hadAccounts } from "../../db/accounts.ts";
import type { Store } from "../../db/store/store.ts";
import type { Signer } from "../signer.ts";

/** Characters of base64url: 132 bits. */
const LENGTH = 22;

export type StartCode = ReturnType<typeof createStartCode>;

/**
 * Derives the start code from the secret of the store, so that it is the same in every process and is stored nowhere.
 */
export function createStartCode({ store, signer }: { store: Store; signer: Signer }) {
  const code = signer.sign("start-code", "").slice(0, LENGTH);

  const isUsed = async (): Promise<boolean> => {
    const [row] = await store.read(hadAccounts({}));
    return row![0] === 1;
  };

  return {
    /** True once the store has or had an account: the code is then worthless for good. */
    isUsed,
    /** The code; null once it is used. */
    current: async (): Promise<string | null> => ((await isUsed()) ? null : code),
    /** Compares in constant time. */
    matches(given: string): boolean {
      const [right, sent] = [Buffer.from(code), Buffer.from(given)];
      return right.length === sent.length && timingSafeEqual(right, sent);
    },
  };
}
