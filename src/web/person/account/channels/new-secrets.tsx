/** Secrets of new webhooks, in memory alone until the person confirms that they are saved. */

import { useSyncExternalStore } from "react";
import { createObservable } from "../../../observable.ts";
import { Button } from "../../../ui/button.tsx";
import { Secret } from "../../../ui/secret.tsx";

interface NewSecret {
  /** Id of the channel, or of the agent that has the webhook. */
  readonly id: string;
  readonly label: string;
  readonly secret: string;
}

const secrets = createObservable<readonly NewSecret[]>([]);

/** Keeps a secret until it is forgotten or `ended` aborts, at sign-out. */
export function keepNewSecret(secret: NewSecret, ended: AbortSignal): void {
  if (ended.aborted) return;
  secrets.set([...secrets.get(), secret]);
  ended.addEventListener("abort", () => forgetNewSecret(secret.id));
}

export const forgetNewSecret = (id: string): void =>
  secrets.set(secrets.get().filter((one) => one.id !== id));

/** Shows the secrets whose id is wanted where their webhooks are set. */
export function NewSecrets({ wants }: { wants: (id: string) => boolean }) {
  const all = useSyncExternalStore(secrets.subscribe, secrets.get);
  const shown = all.filter(({ id }) => wants(id));
  return shown.map(({ id, label, secret }) => (
    <section key={id} className="rounded-xl border border-line p-4">
      <h3 className="said font-semibold">
        Copy the secret of <bdi>{label}</bdi> now
      </h3>
      <p className="mt-1 mb-3 text-soft">
        The receiver verifies signatures with it. It's shown until you choose Done or close this
        page, and never again.
      </p>
      <Secret text={secret} name="webhook secret" />
      <Button variant="primary" className="mt-3" onClick={() => forgetNewSecret(id)}>
        Done
      </Button>
    </section>
  ));
}
