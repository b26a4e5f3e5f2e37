/** Shows the secrets of new webhooks where these are set. */

import { useSyncExternalStore } from "react";
import { Button } from "../../ui/button.tsx";
import { Secret } from "../../ui/secret.tsx";
import { forgetNewSecret, newSecrets, onNewSecrets } from "./new-secrets.ts";

/**
 * The secrets of new webhooks, until the person confirms that they are saved. `wants`: whether to
 * show the one with this id.
 */
export function NewSecrets({ wants }: { wants: (id: string) => boolean }) {
  const made = useSyncExternalStore(onNewSecrets, newSecrets);
  const shown = made.filter(({ id }) => wants(id));
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
