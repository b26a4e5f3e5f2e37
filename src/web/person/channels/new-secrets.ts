/** Secrets of new webhooks, until the person confirms that they are saved. Kept only in memory. */

export interface NewSecret {
  /** Of the channel, or of the agent whose webhook it is. */
  readonly id: string;
  readonly label: string;
  readonly secret: string;
}

const listeners = new Set<() => void>();
let secrets: readonly NewSecret[] = [];

export const newSecrets = (): readonly NewSecret[] => secrets;

/** Calls `listener` when the secrets change; returns a function that stops it. */
export function onNewSecrets(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(next: readonly NewSecret[]): void {
  secrets = next;
  for (const listener of [...listeners]) listener();
}

/** Keeps a secret until it is forgotten or `ended` aborts, at sign-out. */
export function keepNewSecret(made: NewSecret, ended: AbortSignal): void {
  if (ended.aborted) return;
  set([...secrets, made]);
  ended.addEventListener("abort", () => forgetNewSecret(made.id));
}

export const forgetNewSecret = (id: string): void => set(secrets.filter((one) => one.id !== id));
