/** Whether an answer is a web page, such as that of a login in front of a receiver; pure. */

type Header = string | readonly string[] | undefined | null;

/** What may stand before the first element of a document. */
const BEFORE = /^\uFEFF?(?:\s|<\?[^>]{0,200}>|<!--[\s\S]{0,500}?-->)*/;
/** Bytes of a body that tell. */
const BEGINNING = 2_048;

/** The media type says so; receivers that answer with a word often call it HTML too. */
export const isCalledHtml = (content_type: Header): boolean =>
  /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(String(content_type ?? ""));

/** A whole document, whatever its media type, or a compressed body that is called one. */
export function isWebPage(headers: Readonly<Record<string, Header>>, body: Uint8Array): boolean {
  const is_compressed = !/^(?:identity)?$/i.test(String(headers["content-encoding"] ?? ""));
  if (is_compressed) return isCalledHtml(headers["content-type"]);
  const text = new TextDecoder().decode(body.subarray(0, BEGINNING)).replace(BEFORE, "");
  return /^<(?:!doctype\s+html|html)\b/i.test(text);
}
