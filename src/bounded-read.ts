/** Reads a file or a stream up to a bound, since one without an end would fill the memory. */

import { createReadStream } from "node:fs";

/** Thrown for what is longer than its bound. `limit`: the bound in words, such as `1 MiB`. */
export class TooLarge extends Error {
  readonly code = "EFBIG";
  readonly limit: string;
  constructor(most: number, what = "the file") {
    const [unit, size] = most >= 1 << 20 ? ["MiB", 1 << 20] : ["KiB", 1 << 10];
    const limit = `${Math.floor(most / size)} ${unit}`;
    super(`${what} is larger than ${limit}`);
    this.limit = limit;
  }
}

/** All bytes of the stream, which errors call `what`. Throws {@link TooLarge} as soon as there are more than `most`. */
export async function readBounded(
  chunks: AsyncIterable<Uint8Array>,
  most: number,
  what?: string,
): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > most) throw new TooLarge(most, what);
    read.push(chunk);
  }
  return Buffer.concat(read);
}

/** The text of a file in UTF-8, which may be a pipe or a device. Throws {@link TooLarge}, or the error of the system. */
export async function readTextFile(path: string, most: number): Promise<string> {
  return new TextDecoder().decode(await readBounded(createReadStream(path), most));
}
