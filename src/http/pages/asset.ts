/** Files that pages load: named by their content, compressed once, kept by caches for ever. */

import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { compressGzip, TAKES_GZIP } from "../gzip.ts";
import type { Handler } from "../rest.ts";
import { API_SECURITY } from "../security.ts";

export interface Asset {
  /** Names its content, so that a cache may keep it for ever. */
  readonly name: string;
  readonly type: string;
  readonly content: string | Uint8Array<ArrayBuffer> | Bun.BunFile;
}

type Compress = (bytes: string | Uint8Array) => Promise<Buffer<ArrayBuffer>>;

/** By preference; the better one is taken by browsers over https and on the machine itself. */
const ENCODINGS: readonly (readonly [string, RegExp, Compress])[] = [
  [
    "br",
    /\bbr\b(?! *; *q=0(\.0*)?(,|$))/i,
    (bytes) =>
      promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  ],
  ["gzip", TAKES_GZIP, compressGzip],
];

/** Answers with the file, in the best encoding that the request takes. */
export function serveAsset({ type, content }: Omit<Asset, "name">): Handler {
  return serveCompressed(content, {
    "content-type": type,
    "cache-control": "public, max-age=31536000, immutable",
    ...API_SECURITY,
  });
}

/** Answers with this content; each encoding is made at the first request that takes it. */
export function serveCompressed(
  content: Asset["content"],
  fixed: Readonly<Record<string, string>>,
): Handler {
  const headers = { ...fixed, vary: "accept-encoding" };
  // Fonts and pictures are compressed already.
  const encodings = /^(font\/|image\/png)/.test(fixed["content-type"] ?? "") ? [] : ENCODINGS;
  const made = new Map<string, Promise<Buffer<ArrayBuffer>>>();
  return async (request) => {
    const accepted = request.headers.get("accept-encoding") ?? "";
    const found = encodings.find(([, pattern]) => pattern.test(accepted));
    if (!found) return new Response(content, { headers });
    const [encoding, , compress] = found;
    let bytes = made.get(encoding);
    if (!bytes) {
      bytes = compress(
        typeof content === "string" || content instanceof Uint8Array
          ? content
          : await content.bytes(),
      );
      made.set(encoding, bytes);
    }
    return new Response(await bytes, { headers: { ...headers, "content-encoding": encoding } });
  };
}
