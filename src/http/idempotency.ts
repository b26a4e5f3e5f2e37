/** The `Idempotency-Key` header, as digests of who sent what where (decisions.md, Sending again). */

import { LIMITS } from "../limits.ts";
import type { Caller } from "../model/caller.ts";
import type { Once } from "../model/once.ts";
import type { Signer } from "../signer.ts";

interface Sent {
  readonly caller: Caller | null;
  readonly method: string;
  readonly path: string;
  /** The parameters of the path. */
  readonly params: unknown;
  readonly body: unknown;
}

const HEADER = "idempotency-key";

/** Why the header cannot be used; nothing when it can, or is not there. */
export function keyFault({ headers }: Request): Record<string, string> {
  const length = headers.get(HEADER)?.length;
  if (length === undefined || (length > 0 && length <= LIMITS.idempotency_key)) return {};
  return { idempotency_key: `must be 1 to ${LIMITS.idempotency_key} characters` };
}

/** The digests of the request; null without the header or a valid credential. */
export function onceOf({ headers }: Request, sent: Sent, signer: Signer): Once | null {
  const { caller, method, path, params, body } = sent;
  const key = headers.get(HEADER);
  if (key === null || !caller) return null;
  const id = JSON.stringify([caller.credential, method, path, params, key]);
  return {
    id: signer.sign("idempotency key", id),
    body: signer.sign("idempotent body", JSON.stringify(body, inOrder)),
    replayed: false,
  };
}

/** The same members in another order are the same body. */
function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
