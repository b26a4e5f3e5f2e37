/**
 * Access to an agent: the programs that got it by OAuth, and its key (§5.4.7).
 */

import { useState } from "react";
import type { Grant, Key } from "../../state/api.ts";
import { makeKey } from "../../state/new-key-secrets.ts";
import { Ago } from "../../ui/ago.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Problem, Skeleton } from "../../ui/parts.tsx";
import { toast } from "../../ui/toast.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { useTrialEnd } from "../account/trial.tsx";
import { go } from "../route.ts";
import { useSession, useStore } from "../use-store.ts";

export function Access({ agent }: { agent: Key }) {
  const { api } = useSession();
  // Read again when a grant begins or ends, and after a reconnect.
  const version = useStore((one) => one.grantsVersion(agent.id));
  const loads = useStore((one) => one.loads());
  const { value, fault } = useLoaded(`${agent.id} ${version} ${loads}`, () =>
    api.keys.grants.query({ key_id: agent.id }),
  );
  const grants = value?.grants;
  return (
    <section className="card p-5">
      <h2 className="font-semibold text-base">Access</h2>
      <p className="mt-1 mb-4 text-soft">Programs you let act as this agent without its key.</p>
      {fault && !grants && <Problem>{fault.message}</Problem>}
      {!grants && !fault && <Skeleton rows={1} label="Loading access" />}
      {grants?.length === 0 && <p className="text-faint">None</p>}
      {grants && grants.length > 0 && (
        <ul className="divide-y divide-line">
          {grants.map((grant) => (
            <li key={grant.id} className="flex items-center gap-3 py-3">
              <GrantRow grant={grant} agent={agent} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** For a key that was lost, or that somebody else may have. */
export function ReplaceKey({ agent }: { agent: Key }) {
  const { api, store } = useSession();
  const [replacing, setReplacing] = useState(false);
  const in_trial = useTrialEnd() !== null;
  const replace = async () => {
    await makeKey(async () => {
      const { key, secret } = await api.keys.replaceSecret.mutate({ key_id: agent.id });
      store.put("keys", key);
      return { id: key.id, label: key.label, secret };
    });
    // The setup view shows the new secret.
    go(`agents/${agent.id}/setup`);
  };
  return (
    <>
      {!in_trial && (
        <Button className="mt-4" onClick={() => setReplacing(true)}>
          Replace the key
        </Button>
      )}
      <Confirm
        open={replacing}
        onClose={() => setReplacing(false)}
        title="Replace the key?"
        action="Replace the key"
        onConfirm={replace}
      >
        The agent's current key stops working immediately, and you get a new one. Programs that act
        as this agent without its key keep their access. A webhook that the agent set with its old
        key is removed.
      </Confirm>
    </>
  );
}

function GrantRow({ grant, agent }: { grant: Grant; agent: Key }) {
  const { api, store } = useSession();
  const [revoking, setRevoking] = useState(false);
  const in_trial = useTrialEnd() !== null;
  const name = grant.client_name ?? "Unnamed program";
  const revoke = async () => {
    await api.keys.revokeGrant.mutate({ key_id: agent.id, grant_id: grant.id });
    store.grantsChanged(agent.id);
    toast("Access revoked");
  };
  return (
    <>
      <div className="min-w-0 flex-1">
        <bdi dir="auto" className="block truncate text-left font-medium">
          {name}
        </bdi>
        <p className="text-faint text-sm">
          {grant.client_host ?? "On a computer"}
          {" · used "}
          <Ago at={grant.last_used_at ?? grant.created_at} />
        </p>
      </div>
      {!in_trial && (
        <Button
          variant="warning"
          aria-label={`Revoke the access of ${name}`}
          onClick={() => setRevoking(true)}
        >
          Revoke
        </Button>
      )}
      <Confirm
        open={revoking}
        onClose={() => setRevoking(false)}
        title={
          <>
            Revoke the access of <bdi>{name}</bdi>?
          </>
        }
        action="Revoke access"
        onConfirm={revoke}
      >
        It can no longer act as this agent. The agent and its tasks stay.
      </Confirm>
    </>
  );
}
