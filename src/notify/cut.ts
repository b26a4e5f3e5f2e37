/** Cuts texts to fit into so many bytes of JSON. */

export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Between what a person sees as characters, so that none is torn. */
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

const MARK = "…";

/** The beginning of the text and a mark, in at most so many bytes as a JSON string. */
export function cut(text: string, bytes: number): string {
  let room = bytes - bytesOf(MARK);
  let end = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    room -= bytesOf(segment) - 2;
    if (room < 0) break;
    end = index + segment.length;
  }
  return text.slice(0, end) + MARK;
}
