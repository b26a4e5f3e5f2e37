/** gzip: of an answer that is another each time, and whether a request takes it. */

import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** An `Accept-Encoding` that takes it. */
export const TAKES_GZIP = /\bgzip\b(?! *; *q=0(\.0*)?(,|$))/i;

/** Bytes from which on it pays. */
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
