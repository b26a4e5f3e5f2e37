/** Reads a JSON body: size, media type, then JSON, each with its own error (decisions.md, Errors). */

import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Refuses a body whose declared size is over the limit, before any of it is read. */
export function checkDeclaredSize(request: Request): void {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > LIMITS.body_bytes) fail("body_too_large");
}

/** The body as text; an empty one needs no media type. */
export async function readText(request: Request): Promise<string> {
  checkDeclaredSize(request);
  const bytes = await readBytes(request);
  if (bytes.length === 0) return "";
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json *(;|$)/i.test(type)) fail("unsupported_media_type");
  try {
    return decoder.decode(bytes);
  } catch {
    return fail("invalid_json", { detail: "The body is not UTF-8 text." });
  }
}

/** The parsed body, of any kind; a missing one is `{}` where the route allows that. */
export async function readJson(request: Request, { optional }: { optional: boolean }) {
  const text = await readText(request);
  if (text === "" && optional) return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return fail("invalid_json");
  }
}

/** A body without a declared size is counted while it comes, and given up once it is too large. */
async function readBytes(request: Request): Promise<Uint8Array> {
  try {
    if (request.headers.has("content-length") || !request.body) return await request.bytes();
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of request.body) {
      size += chunk.length;
      if (size > LIMITS.body_bytes) fail("body_too_large");
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    if (request.signal.aborted || !(error instanceof Error) || error.name !== "ServiceError") {
      fail("invalid_json", { detail: "The body ended early.", cause: error });
    }
    throw error;
  }
}
