/** Measures and cuts texts in bytes of JSON. */

/** Bytes of a value as JSON in UTF-8. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Cuts fall between graphemes, so that no visible character is split. */
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

const MARK = "…";

/** The beginning of the text followed by `…`, in at most `bytes` bytes as a JSON string. */
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
