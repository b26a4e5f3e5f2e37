/** Secrets of new keys, until the person confirms that they are saved: each is shown only once. */

export interface NewKeySecret {
  readonly id: string;
  readonly label: string;
  readonly secret: string;
}

const listeners = new Set<() => void>();
/** Shown one after the other. */
let secrets: readonly NewKeySecret[] = [];
/** Requests for keys in flight. */
let under_way = 0;

export const newKeySecret = (): NewKeySecret | null => secrets[0] ?? null;

export function onNewKeySecret(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: readonly NewKeySecret[]): void {
  secrets = next;
  for (const listener of [...listeners]) listener();
}

/** Runs a request for a key and keeps its secret, wherever the person navigates meanwhile. */
export async function makeKey(work: () => Promise<NewKeySecret>): Promise<void> {
  under_way++;
  try {
    const made = await work();
    set([...secrets, made]);
  } finally {
    under_way--;
  }
}

/** Drops the secret of this key; without an id (sign-out), all of them and those in flight. */
export function forgetNewKeySecret(id?: string): void {
  if (id === undefined) under_way = 0;
  if (secrets.length > 0) set(id === undefined ? [] : secrets.filter((one) => one.id !== id));
}

// A reload would lose the secret, so the browser asks first.
window.addEventListener("beforeunload", (event) => {
  if (secrets.length > 0 || under_way > 0) event.preventDefault();
});
