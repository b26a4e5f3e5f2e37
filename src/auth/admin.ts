/** The credential of the operator (docs/interface.md 4.3). */

import { createHash, timingSafeEqual } from "node:crypto";
import type { AdminCaller } from "../model/caller.ts";

/** Resolves an `Authorization` header; null when it does not hold the token. */
export type AuthenticateAdmin = (header: string | null) => AdminCaller | null;

/** Compares digests, so that how long it takes tells neither the token nor its length. */
export function createAdminAuth(token: string): AuthenticateAdmin {
  const expected = sha256(token);
  return (header) => {
    const [, sent] = /^bearer +(\S+)$/i.exec(header ?? "") ?? [];
    return sent !== undefined && timingSafeEqual(sha256(sent), expected) ? { kind: "admin" } : null;
  };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();
