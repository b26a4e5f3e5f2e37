/** Reads a JSON body: size, media type, then JSON, each with its own error (decisions.md, Errors). */

import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { createBodyRoom } from "./body-room.ts";
import { refusePipelined } from "./pipelining.ts";

/** One, as the memory is the process's. */
const room = createBodyRoom(LIMITS.bodies_bytes);

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
  await refusePipelined(request);
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

/** The body's bytes, unless it is given up for the sake of newer ones: then `429 rate_limited`. */
async function readBytes(request: Request): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const body = room.enter(reject);
  // `Promise.race` would do the same, and take some microseconds of every request with a body.
  readAll(request, (bytes) => room.hold(body, bytes)).then(resolve, reject);
  try {
    return await promise;
  } catch (error) {
    if (request.signal.aborted || !(error instanceof Error) || error.name !== "ServiceError") {
      fail("invalid_json", { detail: "The body ended early.", cause: error });
    }
    throw error;
  } finally {
    room.leave(body);
  }
}

/** A body without a declared size is counted while it comes, and given up once it is too large. */
async function readAll(request: Request, hold: (bytes: number) => void): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null || !request.body) {
    hold(Number(declared));
    return request.bytes();
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.length;
    if (size > LIMITS.body_bytes) fail("body_too_large");
    hold(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
