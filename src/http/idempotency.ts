/** Reads the `Idempotency-Key` header into digests of who sent what where (§8). */

import type { TRPCRequestInfo } from "@trpc/server/http";
import { canonicalJson } from "../canonical-json.ts";
import { LIMITS } from "../limits.ts";
import type { CredentialHolder } from "../model/caller.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { RelayMeta } from "../rpc/meta.ts";
import type { Signer } from "../signer.ts";
import type { RequestContext } from "./context.ts";

interface IdentifiedRequest {
  readonly caller: CredentialHolder | null;
  readonly path: string;
  /** The parameters of the path. */
  readonly params: unknown;
  /** The body, read only once it is known to be valid (§1.3.8). */
  readonly body: () => unknown;
}

const HEADER = "idempotency-key";

/** Says why the header is invalid; empty when it is valid or absent. */
export function keyFault({ headers }: Request): Record<string, string> {
  const length = headers.get(HEADER)?.length;
  if (length === undefined || (length > 0 && length <= LIMITS.idempotency_key)) return {};
  return { idempotency_key: `must be 1 to ${LIMITS.idempotency_key} characters` };
}

/** Makes the digests of a request, that of its body on demand. Null without the header or a valid credential. */
export function idempotentRequestOf(
  { method, headers }: Request,
  sent: IdentifiedRequest,
  signer: Signer,
): IdempotentRequest | null {
  const { caller, path, params, body } = sent;
  const key = headers.get(HEADER);
  if (key === null || !caller) return null;
  // Between two attempts, an account may replace its token.
  const who = caller.kind === "account" ? caller.account_id : caller.credential;
  const id = JSON.stringify([who, method, path, params, key]);
  let digest: string | undefined;
  return {
    id: signer.sign("idempotency key", id),
    // The procedure reads it, so only after its schema has accepted the body.
    get body() {
      digest ??= signer.sign("idempotent body", canonicalJson(body()));
      return digest;
    },
    replayed: false,
  };
}

/**
 * Reads the header of a tRPC mutation into its context. `/trpc/<name>` is a path of its own, so a change made there is
 * not known on REST. A batch is refused, since its one response could not say which of its calls were done before.
 */
export async function readIdempotencyKey(
  request: Request,
  { isBatchCall, calls: [call] }: Pick<TRPCRequestInfo, "isBatchCall" | "calls">,
  ctx: RequestContext,
  metaOf: (name: string) => RelayMeta | undefined,
  signer: Signer,
): Promise<void> {
  const { method, headers } = request;
  if (method !== "POST" || !headers.has(HEADER) || !call) return;
  const meta = metaOf(call.path);
  if (!meta?.accepts_idempotency_key && !isBatchCall) return;
  let input: unknown;
  try {
    input = await call.getRawInput();
  } catch {
    // A body that is not JSON is refused first (§9.4.1).
    return;
  }
  const batched = { idempotency_key: "is for one call, not for a batch" };
  const faults = isBatchCall ? batched : keyFault(request);
  if (Object.keys(faults).length > 0) {
    ctx.rejected = faults;
    return;
  }
  const { caller } = ctx;
  const path = `/trpc/${call.path}`;
  // Fields such as `wait` do not change what is done, and are not in the body on REST either.
  const in_body = ([name]: [string, unknown]) => !meta?.query?.includes(name);
  const body = () => Object.fromEntries(Object.entries(input as object).filter(in_body));
  ctx.idempotent_request = idempotentRequestOf(request, { caller, path, params: {}, body }, signer);
}
