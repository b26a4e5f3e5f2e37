/** The key that was made last, until the person says that they have it: it is shown this once. */

export interface Fresh {
  readonly id: string;
  readonly label: string;
  readonly secret: string;
}

const listeners = new Set<() => void>();
let fresh: Fresh | null = null;
/** Keys that are being made: what comes of them is shown nowhere else. */
let under_way = 0;

export const freshKey = (): Fresh | null => fresh;

export function onFreshKey(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: Fresh | null): void {
  fresh = next;
  for (const listener of [...listeners]) listener();
}

/** Makes one; it is kept wherever the person is by then. */
export async function makeFreshKey(work: () => Promise<Fresh>): Promise<void> {
  under_way++;
  try {
    set(await work());
  } finally {
    under_way--;
  }
}

/** The person has it, or is gone: then what is under way comes no more either. */
export function forgetFreshKey(): void {
  under_way = 0;
  set(null);
}

// A reload would lose it for good, so the browser asks first.
window.addEventListener("beforeunload", (event) => {
  if (fresh || under_way > 0) event.preventDefault();
});
