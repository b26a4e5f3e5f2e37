/** Whether what is shown is what is. */

import { CloudOff, RotateCw } from "lucide-react";
import type { Link } from "../state/store.ts";
import { momentOf } from "../ui/time.ts";
import { useNow } from "../ui/use-now.ts";
import { useSession, useStore } from "./use-store.ts";

const WORDS: Readonly<Record<Link, string>> = {
  live: "Live",
  connecting: "Connecting",
  offline: "Offline",
  resting: "Resting",
};
const COLOURS: Readonly<Record<Link, string>> = {
  live: "bg-ok",
  connecting: "bg-warn",
  offline: "bg-danger",
  resting: "bg-warn",
};

export function LinkDot() {
  const link = useStore((store) => store.link());
  return (
    <p className="flex items-center gap-2 text-faint text-sm" data-link={link}>
      <span aria-hidden className={`size-2 rounded-full ${COLOURS[link]}`} />
      {WORDS[link]}
    </p>
  );
}

/** Over everything while the server cannot be reached, with the age of what is shown. */
export function LinkBanner() {
  const { sync } = useSession();
  const link = useStore((store) => store.link());
  const known_at = useStore((store) => store.knownAt());
  const now = useNow(60);
  return (
    <div role="status" className="sticky top-0 z-10">
      {link === "offline" && (
        <div className="flex items-center gap-3 border-warn/30 border-b bg-warn-soft py-1 pr-2 pl-4 text-warn md:pl-10">
          <CloudOff aria-hidden className="size-5 shrink-0" />
          <p className="min-w-0 flex-1 font-medium text-sm">
            {known_at === null
              ? "Offline. The server cannot be reached."
              : `Offline. You see what was known at ${momentOf(known_at, now)}.`}
          </p>
          <button
            type="button"
            onClick={sync.hurry}
            className="touch inline-flex items-center gap-1.5 rounded-lg px-3 font-medium text-sm hover:underline"
          >
            <RotateCw aria-hidden className="size-4" />
            Try now
          </button>
        </div>
      )}
    </div>
  );
}
