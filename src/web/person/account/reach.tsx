/** The choice after a new account: how Relay reaches the person. */

import { useState } from "react";
import { noteReach } from "../../state/reach.ts";
import { Button } from "../../ui/button.tsx";
import { Frame } from "../frame.tsx";
import { go } from "../route.ts";
import { useSession } from "../use-store.ts";
import { Ways } from "./channels/ways.tsx";
import { TrialNote, useTrialEnd } from "./trial.tsx";

export function Reach() {
  const { api } = useSession();
  const in_trial = useTrialEnd() !== null;
  const [reached, setReached] = useState(false);
  const note = async () => {
    const { channels } = await api.channels.list.query({});
    noteReach(channels);
  };
  return (
    <Frame title="How should Relay reach you?">
      <p className="mt-2 mb-5 text-lg text-soft leading-snug">
        Relay can notify you while this page is closed. Choose a way; you can add others under
        Account.
      </p>
      {in_trial ? (
        <TrialNote what="add ways to be reached" />
      ) : (
        // What is not noted here is noted on the next visit.
        <Ways onAdded={() => void note().catch(() => null)} onReached={() => setReached(true)} />
      )}
      <Button
        variant={reached ? "primary" : "quiet"}
        className="mt-6 w-full"
        onClick={() => go("questions")}
      >
        {reached ? "Continue" : "Not now"}
      </Button>
    </Frame>
  );
}
