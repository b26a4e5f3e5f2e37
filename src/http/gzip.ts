/** gzip for answers that are made on each request. */

import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Matches an `Accept-Encoding` that accepts gzip. */
export const TAKES_GZIP = /\bgzip\b(?! *; *q=0(\.0*)?(,|$))/i;

/** Smaller bodies, in bytes, are sent as they are. */
const WORTH = 1_000;

export const compressGzip = promisify(gzip);

/**
 * The answer, compressed if the request takes that. Not for one that holds a secret beside something
 * that others choose: its length would tell of it.
 */
export async function gzipped(request: Request, answer: Response): Promise<Response> {
  const { status, headers } = answer;
  const body = await answer.arrayBuffer();
  headers.append("vary", "accept-encoding");
  if (body.byteLength < WORTH || !TAKES_GZIP.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(body, { status, headers });
  }
  headers.set("content-encoding", "gzip");
  return new Response(await compressGzip(body), { status, headers });
}
