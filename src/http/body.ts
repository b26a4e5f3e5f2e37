/** Reads request bodies, after the checks that come before a body is read (§9.4.1). */

import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { createBodyBudget, type Upload } from "../overload/body-budget.ts";
import type { AddressLimit } from "../overload/limiter.ts";
import type { RouteLimit } from "../rpc/meta.ts";
import type { RequestScope } from "./request-scope.ts";

/**
 * Bytes up to which a body is read whole, which is quicker than in chunks. Bun does not say how much of
 * it has arrived, so its declared length counts.
 */
const WHOLE_BYTES = 16 * 1024;

const JSON_BODY = { type: "application/json", pattern: /^application\/json *(;|$)/i };
export const FORM_BODY = {
  type: "application/x-www-form-urlencoded",
  pattern: /^application\/x-www-form-urlencoded *(;|$)/i,
};

export type Bodies = ReturnType<typeof createBodies>;

/** The length that a request declares; null without one. The form check refused any other text. */
function declaredLength({ headers }: Request): number | null {
  const header = headers.get("content-length");
  return header === null ? null : Number(header);
}

/**
 * Throws `413 body_too_large` for a body whose declared size is over the limit. Returns that size, or null without one.
 */
export function checkDeclaredSize(request: Request): number | null {
  const declared = declaredLength(request);
  if (declared !== null && declared > LIMITS.body_bytes) fail("body_too_large");
  return declared;
}

/** True if a body may have more than `bytes`, by the headers alone: one without a declared length may. */
export function mayExceed(request: Request, bytes: number): boolean {
  const declared = declaredLength(request);
  return declared === null ? request.body !== null : declared > bytes;
}

/** The limits of the address that are checked before a large body is read on a route without a credential. */
export const openLimits = (limit: RouteLimit | undefined): readonly AddressLimit[] =>
  limit === undefined || limit === "accounts" ? ["address"] : ["address", limit];

/** The content codings that compress (RFC 9110 8.4.1). */
const COMPRESSED = /\b(gzip|compress|deflate|br|zstd)\b/i;

/** Fails for bytes that are not UTF-8; `415` if the headers or the first bytes say that they are compressed. */
function failUndecodable({ headers }: Request, [first, second]: Uint8Array): never {
  const is_compressed =
    COMPRESSED.test(headers.get("content-encoding") ?? "") || (first === 0x1f && second === 0x8b);
  if (!is_compressed) return fail("invalid_json", { detail: "The body is not UTF-8 text." });
  return fail("unsupported_media_type", {
    detail: "The body is compressed. Send it without a Content-Encoding.",
  });
}

interface ReadOptions {
  /** For a route without a credential: the limits of the address to check. Otherwise the credential is charged. */
  readonly open?: readonly AddressLimit[] | undefined;
  readonly media?: typeof JSON_BODY;
}

/** Reads the bodies of one server; together they stay within one budget. */
export function createBodies({ clock }: { readonly clock: Clock }) {
  const budget = createBodyBudget({ clock });
  const decoder = new TextDecoder("utf-8", { fatal: true });

  /** The body's bytes; rejects when the budget gives the upload up. */
  const readBytes = async ({ request, address }: RequestScope): Promise<Uint8Array> => {
    const declared = checkDeclaredSize(request);
    // To look at `body` makes a stream of it.
    const whole = declared === null ? !request.body : declared <= WHOLE_BYTES;
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const upload = budget.enter(address, whole ? (declared ?? 0) : 0, reject);
    // `Promise.race` would do the same, and take some microseconds of every request with a body.
    (whole ? request.bytes() : readChunks(request, upload)).then(resolve, reject);
    try {
      return await promise;
    } catch (error) {
      if (request.signal.aborted || !(error instanceof Error) || error.name !== "ServiceError") {
        fail("invalid_json", { detail: "The body ended early.", cause: error });
      }
      throw error;
    } finally {
      budget.leave(upload);
    }
  };

  /** Reads a body as a stream, so that the budget sees how much has arrived. */
  const readChunks = async (request: Request, upload: Upload): Promise<Uint8Array> => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of request.body!) {
      // The budget gave it up: nobody reads it any more.
      if (upload.ended) break;
      size += chunk.length;
      if (size > LIMITS.body_bytes) fail("body_too_large");
      budget.hold(upload, chunk.length);
      chunks.push(chunk);
    }
    // Bun ends a body at its last chunk, and then answers 400 itself if a trailer follows: nothing may be done.
    await new Promise<void>((next) => setImmediate(next));
    if (request.signal.aborted) fail("invalid_json");
    return Buffer.concat(chunks);
  };

  return {
    /**
     * The text of a body, empty without one. Null: it was not read, because the call will be refused for its
     * credential or rate limit. Throws what is wrong with its address, size, media type or encoding.
     */
    async read(
      scope: RequestScope,
      { open, media = JSON_BODY }: ReadOptions = {},
    ): Promise<string | null> {
      const { request, charges, turns } = scope;
      if (open) {
        charges.limitOpenBody(open);
      } else {
        // Most requests need neither promise.
        const admitted = charges.admitAddress();
        if (admitted) await admitted;
        const paid = charges.prepayBody();
        if (paid && !(await paid)) return null;
      }
      const bytes = await readBytes(scope);
      turns.bodyArrived();
      charges.bodyArrived(bytes.length);
      if (bytes.length === 0) return "";
      if (!media.pattern.test(request.headers.get("content-type") ?? "")) {
        fail("unsupported_media_type", { detail: `The body must be ${media.type}.` });
      }
      if (bytes.length > LIMITS.large_body_bytes) await turns.heavyWork();
      try {
        return decoder.decode(bytes);
      } catch {
        // Only now: some clients name a coding that their body does not have, such as `utf-8`.
        return failUndecodable(request, bytes);
      }
    },
  };
}
