/** Pairing codes, with which another browser or device signs in (§5.14). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Account } from "./account.ts";
import { readBase32 } from "./base32.ts";
import { readRecoveryCode } from "./recovery-code.ts";
import { Session } from "./session.ts";
import { Timestamp, text } from "./text.ts";

export const Pairing = z
  .object({
    code: z.string().meta({ description: "For typing: 8 characters as `XXXX-XXXX`" }),
    url: z.string().nullable().meta({
      description: "For a QR code: opens the web page, which asks before it signs in",
    }),
    no_url_reason: z
      .string()
      .nullable()
      .meta({ description: "Why there is no `url`, for people; null with one" }),
    expires_at: Timestamp,
  })
  .meta({ id: "Pairing" });
export type Pairing = z.infer<typeof Pairing>;

export const Claimed = z
  .object({ account: Account, session: Session, token: z.string() })
  .meta({ id: "ClaimedPairing" });
export type Claimed = z.infer<typeof Claimed>;

export const PairingOffer = z
  .object({
    account_id: z.string(),
    account_created_at: Timestamp,
    offered_by: z.string().nullable().meta({
      description: "Label of the sign-in that made the code; null for one of the administrator",
    }),
    expires_at: Timestamp,
  })
  .meta({ id: "PairingOffer" });
export type PairingOffer = z.infer<typeof PairingOffer>;

/** A base address for another device, without a slash at the end, or why there is none. */
export type LinkBase = { readonly url: string } | { readonly url: null; readonly reason: string };

/** Either form of a code, as sent. */
export const PairingCode = text({ max: LIMITS.pairing_code }).meta({
  description:
    "The code that was typed, in either case and with or without its dash, or the last part of the link",
});

const LINK_CODE = /^[A-Za-z0-9_-]{22}$/;

/**
 * Reads a code. A typed one is put in capitals without dashes, with 1 for I and L and 0 for O; the code of a link
 * stays as it is. Null for any other text.
 */
export function readCode(given: string): string | null {
  const typed = readBase32(given, 8);
  if (typed !== null) return typed;
  const link = given.trim();
  return LINK_CODE.test(link) ? link : null;
}

/**
 * True for the form of a link's code (128 bits) and of a recovery code (160 bits), which nobody can guess: unlike typed
 * codes (40 bits), they need no limit of their own (§5.14.4).
 */
export const isUnguessable = (given: string): boolean =>
  LINK_CODE.test(given.trim()) || readRecoveryCode(given) !== null;
