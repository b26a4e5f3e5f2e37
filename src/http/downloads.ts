/** `GET /downloads/{name}`: the executable that this process runs from, for other machines, and its checksum (§5.12.4). */

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { fail } from "../errors.ts";
import type { OwnProgram } from "../own-program.ts";
import type { Handler } from "./rest.ts";
import { API_SECURITY } from "./security.ts";

const HEADERS = { "cache-control": "no-cache", ...API_SECURITY };

/** The name under which a program is handed out. */
const downloadName = ({ platform }: OwnProgram): string =>
  `relay-${platform}${platform.startsWith("windows") ? ".exe" : ""}`;

/**
 * The route of a program; no route without one. The file is sent by the system, so that its size takes no memory of
 * this process; `downloads` limits how often (§10.6.1).
 */
export function createDownloads(program: OwnProgram | null): Record<string, { GET: Handler }> {
  if (program === null) return {};
  const file_name = downloadName(program);
  /** The checksum of the file as it was at its last look. */
  let sum: { readonly version: string; readonly hex: Promise<string> } | undefined;

  const checksum = (version: string): Promise<string> => {
    if (sum?.version !== version) {
      const hex = hashOf(program.path);
      sum = { version, hex };
      // A failure is not kept.
      hex.catch(() => {
        sum = undefined;
      });
    }
    return sum.hex;
  };

  return {
    "/downloads/{name}": {
      async GET(request, scope) {
        const { name = "" } = request.params as { name?: string };
        if (name !== file_name && name !== `${file_name}.sha256`) return fail("unknown_path");
        await scope.charges.limit("downloads", null);
        const headersOf = (type: string) => ({
          ...HEADERS,
          "content-type": type,
          ...scope.charges.quota()?.headers,
        });
        // An upgrade replaces or removes the file while this process runs.
        const found = await stat(program.path).catch(() => null);
        if (!found) return fail("unknown_path");
        if (name === file_name) {
          const headers = {
            ...headersOf("application/octet-stream"),
            // Otherwise browsers would save it under the name of the file here, which the checksum does not have.
            "content-disposition": `attachment; filename="${file_name}"`,
          };
          return new Response(Bun.file(program.path), { headers });
        }
        const hex = await checksum(`${found.ino} ${found.size} ${found.mtimeMs}`);
        const headers = headersOf("text/plain; charset=utf-8");
        return new Response(`${hex}  ${file_name}\n`, { headers });
      },
    },
  };
}

/** The SHA-256 of a file, in pieces, so that other requests are served in between. */
async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of Bun.file(path).stream()) hash.update(piece);
  return hash.digest("hex");
}
