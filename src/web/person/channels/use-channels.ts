/** The account's channels. They have no events, so they are polled while they are shown. */

import { useCallback, useEffect, useRef, useState } from "react";
import { every } from "../../clock.ts";
import { type Channel, type Fault, faultOf } from "../../state/api.ts";
import { onPushChannel } from "../../state/push-channel.ts";
import { useSession, useStore } from "../use-store.ts";

/** Seconds between two loads. */
const EVERY = 30;

export interface Channels {
  /** Newest first; null before the first load. */
  readonly all: readonly Channel[] | null;
  readonly fault: Fault | null;
  load(): Promise<void>;
}

/** Loads the channels, and again every 30 seconds while the page is connected. */
export function useChannels(): Channels {
  const { api } = useSession();
  const [all, setAll] = useState<readonly Channel[] | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const live = useStore((store) => store.link() === "live");
  /** Number of the latest request: older responses are ignored. */
  const asked = useRef(0);
  const load = useCallback(async () => {
    const mine = ++asked.current;
    const list = await api.channels.list.query({}).catch(faultOf);
    if (mine !== asked.current) return;
    if ("channels" in list) setAll(list.channels);
    setFault("channels" in list ? null : list);
  }, [api]);
  // This browser's own channel was made or deleted.
  useEffect(() => onPushChannel(() => void load()), [load]);
  useEffect(() => {
    // Do not load when the connection is lost: the token may have ended with it.
    if (live || asked.current === 0) void load();
    return live ? every(EVERY, () => void load()) : undefined;
  }, [load, live]);
  return { all, fault, load };
}
