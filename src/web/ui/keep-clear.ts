/** Moves what lies over the page to where it covers no control. */

const CONTROLS = "a[href], button, input, textarea, select, summary, [tabindex='0']";
/** Rows of lists that are links: in their view, nothing else may be left. */
const ROWS = "li > a[href]";

/** Pixels between what is moved and the controls, and the edges of the window. */
const GAP = 4;

/**
 * Moves a fixed element, without a transition of its position, up until no control is below it. In a view of nothing but controls, it may
 * cover a row of a list, or else stays where its style puts it.
 */
export function keepClear(element: HTMLElement): void {
  element.style.translate = "";
  const box = element.getBoundingClientRect();
  if (box.height === 0) return;
  const dialog = [...document.querySelectorAll("[role$=dialog]")].at(-1);
  const controls = [...(dialog ?? document).querySelectorAll(CONTROLS)].filter(
    (one) => !element.contains(one),
  );
  const top =
    freeTop(box, controls) ??
    freeTop(
      box,
      controls.filter((one) => !one.matches(ROWS)),
    ) ??
    box.top;
  if (top !== box.top) element.style.translate = `0 ${top - box.top}px`;
}

/** The lowest top at which a box of this size, not below where it is, lies over no control; null: none. */
function freeTop(box: DOMRect, controls: readonly Element[]): number | null {
  const beside = controls
    .map((one) => one.getBoundingClientRect())
    .filter(
      ({ left, right, width, height }) =>
        width > 0 && height > 0 && left < box.right && right > box.left,
    );
  let { top } = box;
  while (top >= GAP) {
    const covered = beside.filter(
      (one) => one.top < top + box.height + GAP && one.bottom > top - GAP,
    );
    if (covered.length === 0) return top;
    top = Math.min(...covered.map((one) => one.top)) - GAP - box.height;
  }
  return null;
}
