/** Connection status: whether the page is up to date. */

import { CloudOff, KeyRound, RotateCw } from "lucide-react";
import { Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { after } from "../clock.ts";
import type { Fault } from "../state/api.ts";
import { newKeySecret, onNewKeySecret } from "../state/new-key-secrets.ts";
import type { Connection } from "../state/store.ts";
import { momentOf } from "../ui/time.ts";
import { useNow } from "../ui/use-now.ts";
import { useRoute } from "./route.ts";
import { useSession, useStore } from "./use-store.ts";
import { SignOutHere } from "./views.ts";

const CONNECTIONS: Readonly<Record<Connection, { name: string; color: string }>> = {
  live: { name: "Live", color: "bg-ok" },
  connecting: { name: "Connecting", color: "bg-warn" },
  offline: { name: "Offline", color: "bg-danger" },
  resting: { name: "Paused", color: "bg-warn" },
};

export function ConnectionDot() {
  const connection = useStore((store) => store.connection());
  return (
    <p className="flex items-center gap-2 text-faint text-sm" data-connection={connection}>
      <span aria-hidden className={`size-2 rounded-full ${CONNECTIONS[connection].color}`} />
      {CONNECTIONS[connection].name}
    </p>
  );
}

/** Seconds of connecting before the banner appears. */
const TIMEOUT = 4;

/** True if it has been connecting for longer than {@connection TIMEOUT}. */
function useSlow(connection: Connection): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    return connection === "connecting" ? after(TIMEOUT, () => setSlow(true)) : undefined;
  }, [connection]);
  return slow;
}

/** Banners above every view: for stale data, and for a new key that is not saved yet. */
export function ConnectionBanner() {
  const { sync } = useSession();
  const connection = useStore((store) => store.connection());
  const known_at = useStore((store) => store.knownAt());
  const now = useNow(60);
  const slow = useSlow(connection);
  const trouble = useStore((store) => store.trouble());
  const [leaving, setLeaving] = useState(false);
  const state = connection === "connecting" ? "Connecting." : "Offline.";
  const age =
    known_at === null ? "Can't reach the server." : `Last updated ${momentOf(known_at, now)}.`;
  const text = trouble ? troubleText(trouble) : age;
  return (
    <div className="sticky top-0 z-10">
      <div role="status">
        {(connection === "offline" || (slow && known_at !== null)) && (
          <div className={`${BANNER} flex-wrap justify-end`}>
            <CloudOff aria-hidden className="size-5 shrink-0" />
            <p
              className={`min-w-0 flex-1 font-medium text-sm ${trouble ? "max-md:basis-3/4 max-md:py-1.5" : ""}`}
            >
              {/* Relay itself refuses a blocked account: it is reached. */}
              {trouble?.code === "forbidden" ? text : `${state} ${text}`}
            </p>
            {trouble?.code === "unauthorized" && (
              <button type="button" onClick={() => setLeaving(true)} className={BANNER_ACTION}>
                Sign out here
              </button>
            )}
            <button type="button" onClick={sync.hurry} className={BANNER_ACTION}>
              <RotateCw aria-hidden className="size-4" />
              Retry
            </button>
          </div>
        )}
      </div>
      <NewSecretBanner />
      <Suspense>{leaving && <SignOutHere onClose={() => setLeaving(false)} />}</Suspense>
    </div>
  );
}

/** Says who refused the connection, and what becomes of the sign-in. */
function troubleText({ code, message }: Fault): string {
  if (code !== "unauthorized") return `${message} Relay keeps trying.`;
  return "The server doesn't recognize this browser's sign-in: it may be without its data for a while. The sign-in is kept here, and Relay keeps trying.";
}

const BANNER =
  "flex items-center gap-3 border-warn/30 border-b bg-warn-soft py-1 pr-2 pl-4 text-warn md:pl-10";
const BANNER_ACTION =
  "touch inline-flex items-center gap-1.5 rounded-lg px-3 font-medium text-sm hover:underline";

/** Reminds the person of a new key while another view is open. */
function NewSecretBanner() {
  const new_secret = useSyncExternalStore(onNewKeySecret, newKeySecret);
  const { section, id, part } = useRoute();
  const at = `agents/${new_secret?.id}/setup`;
  const away = new_secret !== null && `${section}/${id}/${part}` !== at;
  return (
    <div role="status">
      {away && (
        <div className={BANNER}>
          <KeyRound aria-hidden className="size-5 shrink-0" />
          <p className="said min-w-0 flex-1 font-medium text-sm">
            The key for <bdi>{new_secret.label}</bdi> is shown only once.
          </p>
          <a href={`#/${at}`} className={BANNER_ACTION}>
            Show key
          </a>
        </div>
      )}
    </div>
  );
}
