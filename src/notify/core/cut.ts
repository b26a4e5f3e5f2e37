/** Measures and cuts texts in bytes of JSON. */

/** Bytes of a value as JSON in UTF-8. */
export const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Cuts fall between graphemes, so that no visible character is split. */
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

const MARK = "…";

/** The beginning of the text followed by `…`, in at most `bytes` bytes as a JSON string. */
export const cut = (text: string, bytes: number): string =>
  cutBy(text, bytes - bytesOf(MARK), (segment) => bytesOf(segment) - 2);

/** The text in at most `units` UTF-16 units: cut, and followed by `…`, if it has more. */
export const cutUnits = (text: string, units: number): string =>
  text.length <= units ? text : cutBy(text, units - MARK.length, ({ length }) => length);

function cutBy(text: string, most: number, sizeOf: (segment: string) => number): string {
  let room = most;
  let end = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    room -= sizeOf(segment);
    if (room < 0) break;
    end = index + segment.length;
  }
  return text.slice(0, end) + MARK;
}
