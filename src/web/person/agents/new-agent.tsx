/**
 * The view that adds an agent: it connects and the person approves it, or the person makes a key
 * for it.
 */

import { type FormEvent, useEffect, useState } from "react";
import type { Key } from "../../state/api.ts";
import { makeKey } from "../../state/new-key-secrets.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { BackLink, FormProblem, Heading, Skeleton } from "../../ui/parts.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useIsMounted } from "../../ui/use-is-mounted.ts";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { go } from "../route.ts";
import { useSession, useStore } from "../use-store.ts";
import { baseAddress, useOffersOAuth } from "./base-address.ts";
import { Connection, Instructions, Waiting } from "./connect.tsx";

export function NewAgent() {
  const base = baseAddress();
  const offered = useOffersOAuth(base);
  const in_trial = useTrialEnd() !== null;
  return (
    <>
      <BackLink href="#/agents">Agents</BackLink>
      <Heading>New agent</Heading>
      {in_trial ? (
        <section className="card p-5 sm:p-6">
          <TrialNote what="add agents" />
        </section>
      ) : offered === undefined ? (
        <Skeleton label="Loading" />
      ) : offered ? (
        <div className="space-y-4">
          <WithoutKey base={base} />
          <section className="card p-5 sm:p-6">
            <h2 className="font-semibold text-base">Or make a key</h2>
            <p className="mt-1 mb-4 text-soft">
              For scripts, and for clients that can't open a browser.
            </p>
            <KeyForm />
          </section>
        </div>
      ) : (
        <div className="card p-5 sm:p-6">
          <KeyForm first />
        </div>
      )}
    </>
  );
}

/** `first`: it is the only content of the view, so its field takes the focus. */
function KeyForm({ first }: { first?: boolean }) {
  const { api, store } = useSession();
  const { busy, fault, run } = useAction();
  const [label, setLabel] = useState("");
  const isMounted = useIsMounted();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const { id } = await makeKey(async () => {
        const { key, secret } = await api.keys.create.mutate({ label });
        store.put("keys", key);
        return { id: key.id, label: key.label, secret };
      });
      // Stay if the person has navigated elsewhere in the meantime.
      if (isMounted.current) go(`agents/${id}/setup`, { replace: true });
    });
  };
  return (
    <form onSubmit={submit} className="space-y-5">
      <TextField
        label="Name"
        name="label"
        required
        autoFocus={first}
        value={label}
        onChange={({ target }) => setLabel(target.value)}
        hint="For example: Claude on my laptop."
        error={fault?.fields.label}
      />
      <FormProblem fault={fault} />
      <div className="flex flex-wrap gap-3">
        <Button type="submit" variant={first ? "primary" : "plain"} busy={busy}>
          Create agent
        </Button>
        {first && <ButtonLink href="#/agents">Cancel</ButtonLink>}
      </div>
      {first && (
        <p className="text-faint text-sm">
          At an https address, and on the server itself, agents can also connect without a key.
        </p>
      )}
    </form>
  );
}

function WithoutKey({ base }: { base: string }) {
  const agent = useArrival();
  return (
    <section className="card space-y-5 p-5 sm:p-6">
      <div>
        <h2 className="font-semibold text-base">Connect and approve</h2>
        <p className="mt-1 text-soft">
          There's no key to copy: the client opens this page in your browser, and you approve it.
        </p>
      </div>
      <Instructions stepsOf={({ withoutKey }, asks) => withoutKey(base, asks)} />
      {agent ? (
        <>
          <Connection agent={agent} />
          <ButtonLink variant="primary" href={`#/agents/${agent.id}`}>
            Done
          </ButtonLink>
        </>
      ) : (
        <div role="status">
          <Waiting>Waiting for your approval…</Waiting>
        </div>
      )}
    </section>
  );
}

/**
 * The agent that was connected since the view opened: a new one, or one that a client got access
 * to.
 */
function useArrival(): Key | undefined {
  const { store } = useSession();
  const loaded = useStore((one) => one.loads() > 0);
  /** `grantsVersion` of each agent when the view opened; null before the first load. */
  const [before, setBefore] = useState<ReadonlyMap<string, number> | null>(null);
  useEffect(() => {
    const now = () => new Map(store.keys().map(({ id }) => [id, store.grantsVersion(id)]));
    if (loaded) setBefore((known) => known ?? now());
  }, [store, loaded]);
  return useStore((one) =>
    before ? one.keys().find(({ id }) => before.get(id) !== one.grantsVersion(id)) : undefined,
  );
}
