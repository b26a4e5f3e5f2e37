/** Files that pages load: named by their content, compressed once, cached for ever. */

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { ACCEPTS_GZIP, compressGzip } from "../gzip.ts";
import type { Handler } from "../rest.ts";
import { API_SECURITY } from "../security.ts";

export interface Asset {
  /** Changes with the content, so that caches may keep it for ever. */
  readonly name: string;
  readonly type: string;
  readonly content: string | Uint8Array<ArrayBuffer> | Bun.BunFile;
}

export const TEXT_TYPES = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
} as const;

export const contentHash = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("hex").slice(0, 12);

export const textAsset = (name: string, kind: keyof typeof TEXT_TYPES, content: string): Asset => ({
  name: `${name}-${contentHash(content)}.${kind}`,
  type: TEXT_TYPES[kind],
  content,
});

type Compress = (bytes: string | Uint8Array) => Promise<Buffer<ArrayBuffer>>;

/** By preference. Browsers accept `br` over https and on the machine itself. */
const ENCODINGS: readonly (readonly [string, RegExp, Compress])[] = [
  [
    "br",
    /\bbr\b(?! *; *q=0(\.0*)?(,|$))/i,
    (bytes) =>
      promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  ],
  ["gzip", ACCEPTS_GZIP, compressGzip],
];

/** Answers with the file in the best encoding that the request accepts. */
export function serveAsset({ type, content }: Omit<Asset, "name">): Handler {
  return serveCompressed(content, {
    "content-type": type,
    "cache-control": "public, max-age=31536000, immutable",
    ...API_SECURITY,
  });
}

/** Answers with this content. Each encoding is made at the first request that accepts it. */
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
