/** Recognizes an answer that is a web page, such as a login in front of a receiver; pure. */

type Header = string | readonly string[] | undefined | null;

/** Text that may precede the first element of a document. */
const BEFORE = /^\uFEFF?(?:\s|<\?[^>]{0,200}>|<!--[\s\S]{0,500}?-->)*/;
/** Bytes of a body that are looked at. */
const BEGINNING = 2_048;

/** True if the media type says HTML. Receivers that answer with one word often say so too. */
export const isCalledHtml = (content_type: Header): boolean =>
  /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(String(content_type ?? ""));

/** True if a body is a whole HTML document, whatever its media type, or compressed and called HTML. */
export function isWebPage(headers: Readonly<Record<string, Header>>, body: Uint8Array): boolean {
  const is_compressed = !/^(?:identity)?$/i.test(String(headers["content-encoding"] ?? ""));
  if (is_compressed) return isCalledHtml(headers["content-type"]);
  const text = new TextDecoder().decode(body.subarray(0, BEGINNING)).replace(BEFORE, "");
  return /^<(?:!doctype\s+html|html)\b/i.test(text);
}
