/** Gives the focus a place when what had it is gone, so that keys and screen readers do not start anew. */

/** Where in the view it was. */
interface Place {
  readonly list: Element | null;
  /** Of the list's items. */
  readonly at: number;
  readonly section: Element | null;
}

/** Follows the focus of the whole page until it is stopped. */
export function keepFocus(): () => void {
  let last: Element | null = null;
  /** Whether that was in a dialog. */
  let over = false;
  let place: Place = { list: null, at: -1, section: null };
  let frame = 0;

  const note = () => {
    const { activeElement } = document;
    if (!activeElement || activeElement === document.body) return;
    last = activeElement;
    over = last.closest("[role$=dialog]") !== null;
    // What lies over the view goes away again, and leaves the person where they were in it.
    if (!over) place = placeOf(last);
  };
  const look = () => {
    frame = 0;
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    last = null;
    const [dialog] = [...document.querySelectorAll<HTMLElement>("[role$=dialog]")].reverse();
    // One that has just come takes the focus by itself.
    if (!dialog) targetOf(place)?.focus({ preventScroll: true });
    else if (over) dialog.focus({ preventScroll: true });
  };
  const changed = (records: readonly MutationRecord[]) => {
    if (!last) return;
    // After the frame, as whoever took it away may give the focus a better place.
    if (!last.isConnected) frame ||= requestAnimationFrame(look);
    // What was disabled only for a while lost it too.
    else if (
      document.activeElement === document.body &&
      records.some(({ type, target }) => type === "attributes" && target === last)
    ) {
      (last as HTMLElement).focus({ preventScroll: true });
    }
  };
  document.addEventListener("focusin", note);
  // By then a list can be longer than it was when the focus came.
  document.addEventListener("click", note, true);
  const changes = new MutationObserver(changed);
  const options = { childList: true, subtree: true, attributeFilter: ["disabled"] };
  changes.observe(document.body, options);
  return () => {
    document.removeEventListener("focusin", note);
    document.removeEventListener("click", note, true);
    changes.disconnect();
    cancelAnimationFrame(frame);
  };
}

function placeOf(element: Element): Place {
  const section = element.closest("main section");
  const item = element.closest("main li");
  const list = item?.parentElement;
  if (list) return { list, at: [...list.children].indexOf(item), section };
  // What stands right under a list makes it longer.
  const above = element.previousElementSibling;
  if (above?.matches("main ul")) return { list: above, at: above.children.length, section };
  return { list: null, at: -1, section };
}

/** What came to its place in the list; else the head of its part of the view, or of the view. */
function targetOf({ list, at, section }: Place): HTMLElement | null {
  const item = list?.isConnected ? list.children[Math.min(at, list.children.length - 1)] : null;
  const found: HTMLElement | null | undefined =
    item?.querySelector<HTMLElement>("a, button:not([data-careful])") ??
    (item as HTMLElement | null | undefined) ??
    (section?.isConnected ? section.querySelector("h2") : null) ??
    document.querySelector<HTMLElement>("main h1") ??
    document.querySelector("main");
  if (found && found.tabIndex < 0) found.tabIndex = -1;
  return found;
}
