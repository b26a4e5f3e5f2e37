/** Above the questions: offers the choice of a way again while nothing reaches the person. */

import { BellOff } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { isUnreached, noteReach, onReach } from "../../state/reach.ts";
import { useSession, useStore } from "../use-store.ts";
import { useTrialEnd } from "./trial.tsx";

export function ReachLine() {
  const { api } = useSession();
  const live = useStore((store) => store.connection() === "live");
  const loads = useStore((store) => store.loads());
  const waiting = useStore((store) => store.pending().length > 0);
  const unreached = useSyncExternalStore(onReach, isUnreached);
  const in_trial = useTrialEnd() !== null;
  /** Appears above questions only with the view, so that it moves no button. */
  const [shown, setShown] = useState(unreached);
  useEffect(() => {
    if (!live || loads === 0) return;
    const look = async () => {
      const [{ channels }, { devices }] = await Promise.all([
        api.channels.list.query({}),
        api.devices.list.query({}),
      ]);
      noteReach(
        channels,
        devices.some(({ apns_token }) => apns_token !== null),
      );
    };
    // The next load tries again.
    void look().catch(() => null);
  }, [api, live, loads]);
  useEffect(() => {
    if (!unreached) setShown(false);
    else if (!waiting) setShown(true);
  }, [unreached, waiting]);
  if (!shown || in_trial) return null;
  return (
    <p className="mb-4 flex items-start gap-2 text-soft text-sm">
      <BellOff aria-hidden className="mt-0.5 size-4 shrink-0" />
      <span>
        {"You get no notifications while this page is closed. "}
        <a href="#/reach" className="font-medium text-accent underline">
          Choose how Relay reaches you
        </a>
      </span>
    </p>
  );
}
