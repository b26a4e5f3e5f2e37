/** For empty views of an account without agents: a link to add the first one. */

import { ButtonLink } from "../../ui/button.tsx";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { useStore } from "../use-store.ts";

export function FirstAgent() {
  const none = useStore((store) => store.loads() > 0 && store.keys().length === 0);
  const in_trial = useTrialEnd() !== null;
  if (!none) return null;
  if (in_trial) return <TrialNote what="add agents" />;
  return (
    <ButtonLink variant="primary" href="#/agents/new" className="mt-4">
      Add an agent
    </ButtonLink>
  );
}
