/** Copies text to the clipboard. */

/**
 * Copies `text`; false if the browser refuses. Browsers have the clipboard API only over https and
 * on localhost, so elsewhere this falls back to the older command. Call it in a click handler.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

/**
 * The command copies the selection, so the text is put into a hidden element and selected for a
 * moment.
 */
function copyByCommand(text: string): boolean {
  const holder = document.createElement("pre");
  holder.className = "sr-only select-text";
  holder.textContent = text;
  document.body.append(holder);
  const selection = getSelection();
  const before = selection?.rangeCount ? selection.getRangeAt(0) : null;
  let provided = false;
  // Plain text, without the styles of the page.
  const provide = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    provided = true;
  };
  holder.addEventListener("copy", provide);
  selection?.selectAllChildren(holder);
  try {
    return document.execCommand("copy") && provided;
  } catch {
    return false;
  } finally {
    holder.remove();
    selection?.removeAllRanges();
    if (before) selection?.addRange(before);
  }
}
