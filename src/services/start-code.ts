/** The start code: whoever has it may create the first account of a store (docs/interface.md §5.2.1). */

import { timingSafeEqual } from "node:crypto";
import { hadAccounts } from "../../db/accounts.ts";
import type { Store } from "../../db/store.ts";
import type { Signer } from "../signer.ts";

/** Characters of base64url: 132 bits. */
const LENGTH = 22;

export type StartCode = ReturnType<typeof createStartCode>;

/** Derived from the secret of the store: the same in every process, and stored nowhere. */
export function createStartCode({ store, signer }: { store: Store; signer: Signer }) {
  const code = signer.sign("start-code", "").slice(0, LENGTH);

  const isUsed = async (): Promise<boolean> => {
    const [row] = await store.read(hadAccounts({}));
    return row![0] === 1;
  };

  return {
    /** Whether the store has or had an account: the code is then worth nothing, for good. */
    isUsed,
    /** The code; null once it is used. */
    current: async (): Promise<string | null> => ((await isUsed()) ? null : code),
    /** In a time that tells nothing of the code. */
    matches(given: string): boolean {
      const [right, sent] = [Buffer.from(code), Buffer.from(given)];
      return right.length === sent.length && timingSafeEqual(right, sent);
    },
  };
}
