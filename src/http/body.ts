/** Reads a JSON body: size, media type, then JSON, each with its own error (docs/interface.md 9.4). */

import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { createBodyBudget, type Upload } from "../overload/body-budget.ts";
import { parseJson } from "../overload/json-bounds.ts";
import { parseLength } from "./request-form.ts";
import type { RequestScope } from "./request-scope.ts";

/**
 * Bytes up to which a body is read whole, which is quicker than in chunks. Bun does not say how much of
 * it has arrived, so its declared length counts.
 */
const WHOLE_BYTES = 16 * 1024;

const JSON_BODY = /^application\/json *(;|$)/i;
export const FORM_BODY = /^application\/x-www-form-urlencoded *(;|$)/i;

type Sender = Pick<RequestScope, "request" | "address" | "bodyArrived" | "heavyTurn">;

export type Bodies = ReturnType<typeof createBodies>;

/** The length that a request declares; null without one. `400` when it is not one number. */
function declaredLength({ headers }: Request): number | null {
  const header = headers.get("content-length");
  if (header === null) return null;
  return parseLength(header) ?? fail("invalid_json", { detail: "The length is not a number." });
}

/** Refuses a body whose declared size is over the limit, before any of it is read. */
export function checkDeclaredSize(request: Request): number | null {
  const declared = declaredLength(request);
  if (declared !== null && declared > LIMITS.body_bytes) fail("body_too_large");
  return declared;
}

/** Whether a body may have more than `bytes`, by the headers alone: one without a declared length may. */
export function mayExceed(request: Request, bytes: number): boolean {
  const declared = declaredLength(request);
  return declared === null ? request.body !== null : declared > bytes;
}

/** The content codings that compress (RFC 9110 8.4.1). */
const COMPRESSED = /\b(gzip|compress|deflate|br|zstd)\b/i;

/** Why bytes are no UTF-8 text: the headers name a coding that compresses, or they begin as gzip does, or else. */
function failUndecodable({ headers }: Request, [first, second]: Uint8Array): never {
  const is_compressed =
    COMPRESSED.test(headers.get("content-encoding") ?? "") || (first === 0x1f && second === 0x8b);
  if (!is_compressed) return fail("invalid_json", { detail: "The body is not UTF-8 text." });
  return fail("unsupported_media_type", {
    detail: "The body is compressed. Send it without a Content-Encoding.",
  });
}

/** Reads the bodies of one server; together they stay within one budget. */
export function createBodies({ clock }: { readonly clock: Clock }) {
  const budget = createBodyBudget({
    clock,
    bytes: LIMITS.bodies_bytes,
    uploads: LIMITS.bodies,
    uploads_per_address: LIMITS.bodies_per_address,
    seconds: LIMITS.body_seconds,
  });
  const decoder = new TextDecoder("utf-8", { fatal: true });

  /** The body's bytes; rejects when the budget gives the upload up. */
  const readBytes = async ({ request, address }: Sender): Promise<Uint8Array> => {
    const declared = checkDeclaredSize(request);
    const whole = !request.body || (declared !== null && declared <= WHOLE_BYTES);
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const upload = budget.enter(address, whole ? (declared ?? 0) : 0, reject);
    // `Promise.race` would do the same, and take some microseconds of every request with a body.
    (whole ? request.bytes() : readChunks(request.body!, upload)).then(resolve, reject);
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

  /** Reads as a stream, so that the budget sees how much has arrived. */
  const readChunks = async (
    body: ReadableStream<Uint8Array>,
    upload: Upload,
  ): Promise<Uint8Array> => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      // The budget gave it up: nobody reads it any more.
      if (upload.ended) break;
      size += chunk.length;
      if (size > LIMITS.body_bytes) fail("body_too_large");
      budget.hold(upload, chunk.length);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  };

  /** The body as text, of the media type that `media` matches; an empty one needs none. */
  const readText = async (sender: Sender, media = JSON_BODY): Promise<string> => {
    const bytes = await readBytes(sender);
    sender.bodyArrived(bytes.length);
    if (bytes.length === 0) return "";
    const type = sender.request.headers.get("content-type") ?? "";
    if (!media.test(type)) {
      const wanted = media === JSON_BODY ? "application/json" : "application/x-www-form-urlencoded";
      fail("unsupported_media_type", { detail: `The body must be ${wanted}.` });
    }
    if (bytes.length > LIMITS.large_body_bytes) await sender.heavyTurn();
    try {
      return decoder.decode(bytes);
    } catch {
      // Only now: some clients name a coding that their body does not have, such as `utf-8`.
      return failUndecodable(sender.request, bytes);
    }
  };

  return {
    readText,

    /** The parsed body, of any kind, or {@link TOO_DEEP}; a missing one is `{}` if it is optional. */
    async readJson(sender: Sender, { optional }: { optional: boolean }): Promise<unknown> {
      const text = await readText(sender);
      if (text === "" && optional) return {};
      try {
        return parseJson(text);
      } catch {
        return fail("invalid_json");
      }
    },
  };
}
