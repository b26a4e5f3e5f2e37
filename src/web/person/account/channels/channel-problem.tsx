/** What the server knows against a channel before it is saved (§19.2.11). */

import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import type { Api, ChannelProblem } from "../../../state/api.ts";
import { useSession } from "../../use-store.ts";

type Checked = Parameters<Api["channels"]["check"]["mutate"]>[0];

/**
 * Returns what the server knows against the channel; null for nothing, or without a response: the
 * channel can then be saved all the same.
 */
export const problemOf = (api: Api, channel: Checked): Promise<ChannelProblem | null> =>
  api.channels.check.mutate(channel).then(
    ({ problem }) => problem,
    () => null,
  );

/** The check of a form's channel, `checked`, when the form is sent. */
export function useChannelCheck(checked: Checked) {
  const { api } = useSession();
  const [found, setFound] = useState<{ for: string; problem: ChannelProblem | null } | null>(null);
  const now = JSON.stringify(checked);
  const problem = found?.for === now ? found.problem : null;
  return {
    /** What is known against the channel that the form has now. */
    problem,
    /** True if the channel may be saved: nothing is known against it, or the person has read what is. */
    async passes(): Promise<boolean> {
      if (problem !== null && !problem.refused) return true;
      const next = await problemOf(api, checked);
      setFound({ for: now, problem: next });
      return next === null;
    },
  };
}

export function ProblemNote({ problem }: { readonly problem: ChannelProblem | null }) {
  return (
    <div role="alert">
      {problem && (
        <p className="said flex gap-2 rounded-xl bg-warn-soft px-4 py-3 text-warn">
          <TriangleAlert aria-hidden className="mt-0.5 size-5 shrink-0" />
          <span className="min-w-0">
            <span className="font-medium">This won't work here.</span> {problem.detail}
          </span>
        </p>
      )}
    </div>
  );
}
