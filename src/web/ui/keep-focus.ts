/** Moves the focus to a neighbour when the focused element is removed, instead of losing it. */

interface FocusPosition {
  readonly list: Element | null;
  /** Index in the list. */
  readonly at: number;
  readonly section: Element | null;
}

/** Watches the focus of the whole page; returns a function that stops it. */
export function keepFocus(): () => void {
  let last: Element | null = null;
  /** True if the focus was in a dialog. */
  let in_dialog = false;
  let position: FocusPosition = { list: null, at: -1, section: null };
  let frame = 0;

  const remember = () => {
    const { activeElement } = document;
    if (!activeElement || activeElement === document.body) return;
    last = activeElement;
    in_dialog = last.closest("[role$=dialog]") !== null;
    // A dialog is temporary: remember the position in the view behind it.
    if (!in_dialog) position = positionOf(last);
  };
  const restore = () => {
    frame = 0;
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    last = null;
    const [dialog] = [...document.querySelectorAll<HTMLElement>("[role$=dialog]")].reverse();
    // A dialog that just opened takes the focus by itself.
    if (!dialog) targetOf(position)?.focus({ preventScroll: true });
    else if (in_dialog) dialog.focus({ preventScroll: true });
  };
  const changed = (records: readonly MutationRecord[]) => {
    if (!last) return;
    // In the next frame, since the code that removed the element may set the focus itself.
    if (!last.isConnected) frame ||= requestAnimationFrame(restore);
    // An element that was disabled for a moment has lost the focus too.
    else if (
      document.activeElement === document.body &&
      records.some(({ type, target }) => type === "attributes" && target === last)
    ) {
      (last as HTMLElement).focus({ preventScroll: true });
    }
  };
  document.addEventListener("focusin", remember);
  // The list may have grown since it got the focus.
  document.addEventListener("click", remember, true);
  const changes = new MutationObserver(changed);
  const options = { childList: true, subtree: true, attributeFilter: ["disabled"] };
  changes.observe(document.body, options);
  return () => {
    document.removeEventListener("focusin", remember);
    document.removeEventListener("click", remember, true);
    changes.disconnect();
    cancelAnimationFrame(frame);
  };
}

function positionOf(element: Element): FocusPosition {
  const section = element.closest("main section");
  const item = element.closest("main li");
  const list = item?.parentElement;
  if (list) return { list, at: [...list.children].indexOf(item), section };
  // A button right below a list loads more of it.
  const above = element.previousElementSibling;
  if (above?.matches("main ul")) return { list: above, at: above.children.length, section };
  return { list: null, at: -1, section };
}

/** The item now at that position; otherwise the heading of its section, or of the view. */
function targetOf({ list, at, section }: FocusPosition): HTMLElement | null {
  const item = list?.isConnected ? list.children[Math.min(at, list.children.length - 1)] : null;
  const found: HTMLElement | null | undefined =
    item?.querySelector<HTMLElement>("a, button:not([data-careful], [data-time])") ??
    (item as HTMLElement | null | undefined) ??
    (section?.isConnected ? section.querySelector("h2") : null) ??
    document.querySelector<HTMLElement>("main h1") ??
    document.querySelector("main");
  if (found && found.tabIndex < 0) found.tabIndex = -1;
  return found;
}
