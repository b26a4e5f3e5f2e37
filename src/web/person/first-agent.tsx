/** For empty views of an account without agents: a link to add the first one. */

import { ButtonLink } from "../ui/button.tsx";
import { useStore } from "./use-store.ts";

export function FirstAgent() {
  const none = useStore((store) => store.loads() > 0 && store.keys().length === 0);
  if (!none) return null;
  return (
    <ButtonLink variant="primary" href="#/agents/new" className="mt-4">
      Add an agent
    </ButtonLink>
  );
}
