/** The operator's credential (§4.3). */

import { createHash, timingSafeEqual } from "node:crypto";
import type { AdminCaller } from "../model/caller.ts";

/** Reads an `Authorization` header; null if it does not have the token. */
export type AuthenticateAdmin = (header: string | null) => AdminCaller | null;

/** Compares digests, so that the time that it takes tells neither the token nor its length. */
export function createAdminAuth(token: string): AuthenticateAdmin {
  const expected = sha256(token);
  return (header) => {
    const [, sent] = /^bearer +(\S+)$/i.exec(header ?? "") ?? [];
    return sent !== undefined && timingSafeEqual(sha256(sent), expected) ? { kind: "admin" } : null;
  };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();
