/** The recovery code of an account: the way back in once every sign-in is lost (§5.2.7, §5.13.5). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Account } from "./account.ts";
import { inGroups, readBase32, toBase32 } from "./base32.ts";
import { Session } from "./session.ts";
import { Timestamp, text } from "./text.ts";

/** Random bytes of a code. */
export const RECOVERY_BYTES = 20;
const CHARACTERS = 32;

const Shown = z.string().meta({
  description: "For the person to save: 32 characters in 8 groups of 4. No other response has it",
});

/** Response of `POST /v1/account/recovery-code`. */
export const RecoveryCode = z
  .object({ code: Shown, created_at: Timestamp })
  .meta({ id: "RecoveryCode" });
export type RecoveryCode = z.infer<typeof RecoveryCode>;

/** Response of `GET /v1/account/recovery-code`. */
export const RecoveryCodeState = z
  .object({
    created_at: Timestamp.nullable().meta({
      description: "When the code was made; null if the account has none",
    }),
  })
  .meta({ id: "RecoveryCodeState" });
export type RecoveryCodeState = z.infer<typeof RecoveryCodeState>;

/** Response of `POST /v1/sessions/recover`. */
export const Recovered = z
  .object({
    account: Account,
    session: Session,
    token: z.string(),
    recovery_code: z.string().meta({
      description: "The code that takes the place of the used one. The person must save it",
    }),
  })
  .meta({ id: "RecoveredSession" });
export type Recovered = z.infer<typeof Recovered>;

/** A code as sent. */
export const RecoveryCodeInput = text({ max: LIMITS.recovery_code }).meta({
  description: "The code, in either case and with or without dashes and white space",
});

/** {@link RECOVERY_BYTES} bytes as a code in the form in which it is stored, as a digest. */
export const recoveryCode: (bytes: Uint8Array) => string = toBase32;

/** The code as shown: 8 groups of 4 characters. */
export const showRecoveryCode: (code: string) => string = inGroups;

/** Reads a code as a person types it; null for a text that is none. */
export const readRecoveryCode = (given: string): string | null => readBase32(given, CHARACTERS);
