/** How to connect an agent: its new key, until the person has saved it, and instructions. */

import { useState, useSyncExternalStore } from "react";
import type { Key } from "../../state/api.ts";
import { forgetNewKeySecret, newKeySecretOf, onNewKeySecret } from "../../state/new-key-secrets.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Skeleton } from "../../ui/parts.tsx";
import { Secret } from "../../ui/secret.tsx";
import { baseAddress, useOffersOAuth } from "./base-address.ts";
import { Connection, Instructions } from "./connect.tsx";
import { KEY_PLACEHOLDER } from "./set-up.ts";

export function AgentSetup({ agent }: { agent: Key }) {
  const secret = useSyncExternalStore(onNewKeySecret, () => newKeySecretOf(agent.id));
  return (
    <div className="card space-y-7 p-5 sm:p-6">
      {secret !== null && (
        <section>
          <h2 className="font-semibold text-base">Copy the key now</h2>
          <p className="mt-1 mb-3 text-soft">
            It's shown until you choose Done, and never again. Anyone who has it can act as this
            agent.
          </p>
          <Secret text={secret} name="key" qr />
        </section>
      )}
      <section>
        <h2 className="mb-3 font-semibold text-base">Connect the agent</h2>
        <div className="space-y-5">
          {secret === null ? <KnownWays /> : <WithKey secret={secret} />}
          <Connection agent={agent} />
        </div>
      </section>
      {secret !== null && (
        <ButtonLink
          variant="primary"
          href={`#/agents/${agent.id}`}
          onClick={({ ctrlKey, metaKey, shiftKey }) => {
            // A click that opens a new tab must not drop the secret in this one.
            if (!ctrlKey && !metaKey && !shiftKey) forgetNewKeySecret(agent.id);
          }}
        >
          Done
        </ButtonLink>
      )}
    </div>
  );
}

function WithKey({ secret }: { secret: string }) {
  return <Instructions stepsOf={({ withKey }, asks) => withKey(baseAddress(), secret, asks)} />;
}

/** The ways to sign in that are offered when the key is not shown. */
const WAYS = [
  ["browser", "Approve in the browser"],
  ["key", "The agent's key"],
] as const;

function KnownWays() {
  const base = baseAddress();
  const offered = useOffersOAuth(base);
  const [chosen, setWay] = useState<string>("browser");
  if (offered === undefined) return <Skeleton label="Loading" rows={1} />;
  const way = offered ? chosen : "key";
  return (
    <>
      {offered && (
        <SelectField
          label="Sign-in"
          value={way}
          onChange={({ target }) => setWay(target.value)}
          options={WAYS}
        />
      )}
      {way === "browser" ? (
        <Instructions stepsOf={({ withoutKey }, asks) => withoutKey(base, asks)} />
      ) : (
        <>
          <p className="text-soft">
            Put the key you saved in place of{" "}
            <code className="font-mono text-[0.8125rem]">{KEY_PLACEHOLDER}</code>: Relay can't show
            it again. If you lost it, replace it under{" "}
            <em className="not-italic font-medium">Key</em>.
          </p>
          <Instructions stepsOf={({ withKey }, asks) => withKey(base, KEY_PLACEHOLDER, asks)} />
        </>
      )}
    </>
  );
}
