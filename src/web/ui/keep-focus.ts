/** Gives the focus a place when what had it is gone, so that keys and screen readers do not start anew. */

/** Where it was: the element, and its item in a list. */
interface Place {
  readonly element: Element;
  readonly list: Element | null;
  readonly at: number;
}

/** Follows the focus of the whole page until it is stopped. */
export function keepFocus(): () => void {
  let last: Place | null = null;
  let frame = 0;

  const note = ({ target }: FocusEvent) => {
    const element = target as Element;
    const item = element.closest("main li");
    const list = item?.parentElement ?? null;
    last = { element, list, at: list ? [...list.children].indexOf(item!) : -1 };
  };
  const look = () => {
    frame = 0;
    if (!last || last.element.isConnected || document.activeElement !== document.body) return;
    const { list, at } = last;
    last = null;
    targetOf(list, at)?.focus({ preventScroll: true });
  };
  // After the frame, as whoever took it away may give the focus a better place.
  const changed = () => {
    if (last && !last.element.isConnected) frame ||= requestAnimationFrame(look);
  };
  document.addEventListener("focusin", note);
  const changes = new MutationObserver(changed);
  changes.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("focusin", note);
    changes.disconnect();
    cancelAnimationFrame(frame);
  };
}

/** What came to its place in the list; else the dialog that is open, or the head of the view. */
function targetOf(list: Element | null, at: number): HTMLElement | null {
  if (list?.isConnected) {
    const item = list.children[Math.min(at, list.children.length - 1)];
    const link = item?.querySelector<HTMLElement>("a, button:not([data-careful])");
    if (link) return link;
  }
  const [dialog] = [...document.querySelectorAll<HTMLElement>("[role$=dialog]")].reverse();
  return dialog ?? document.querySelector<HTMLElement>("main h1") ?? document.querySelector("main");
}
