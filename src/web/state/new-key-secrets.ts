/** Keys that were made just now, until the person says that they have them: each is shown this once. */

export interface NewKeySecret {
  readonly id: string;
  readonly label: string;
  readonly secret: string;
}

const listeners = new Set<() => void>();
/** The first one is shown until the person has it, then the next. */
let fresh: readonly NewKeySecret[] = [];
/** Keys that are being made: what comes of them is shown nowhere else. */
let under_way = 0;

export const newKeySecret = (): NewKeySecret | null => fresh[0] ?? null;

export function onNewKeySecret(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: readonly NewKeySecret[]): void {
  fresh = next;
  for (const listener of [...listeners]) listener();
}

/** Makes one; it is kept wherever the person is by then. */
export async function makeKey(work: () => Promise<NewKeySecret>): Promise<void> {
  under_way++;
  try {
    const made = await work();
    set([...fresh, made]);
  } finally {
    under_way--;
  }
}

/** The person has it, or it is gone; without an id the person is, and nothing under way comes any more. */
export function forgetNewKeySecret(id?: string): void {
  if (id === undefined) under_way = 0;
  if (fresh.length > 0) set(id === undefined ? [] : fresh.filter((one) => one.id !== id));
}

// A reload would lose it for good, so the browser asks first.
window.addEventListener("beforeunload", (event) => {
  if (fresh.length > 0 || under_way > 0) event.preventDefault();
});
