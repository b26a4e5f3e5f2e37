/** Compresses responses that are made anew for each request. */

import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Matches an `Accept-Encoding` that accepts gzip. */
export const ACCEPTS_GZIP = /\bgzip\b(?! *; *q=0(\.0*)?(,|$))/i;

/** Bytes below which a body is sent as it is. */
const WORTH = 1_000;

export const compressGzip = promisify(gzip);

/**
 * The response, compressed if the client accepts gzip. Not for a response with a secret beside text that others
 * choose: its length would reveal the secret.
 */
export async function gzipped(request: Request, answer: Response): Promise<Response> {
  const { status, headers } = answer;
  const body = await answer.arrayBuffer();
  headers.append("vary", "accept-encoding");
  if (body.byteLength < WORTH || !ACCEPTS_GZIP.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(body, { status, headers });
  }
  headers.set("content-encoding", "gzip");
  return new Response(await compressGzip(body), { status, headers });
}
