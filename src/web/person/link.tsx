/** Whether what is shown is what is. */

import { CloudOff, RotateCw } from "lucide-react";
import { timeOf } from "../ui/time.ts";
import { useSession, useStore } from "./use-store.ts";

const WORDS = { live: "Live", connecting: "Connecting", offline: "Offline" } as const;
const COLOURS = { live: "bg-ok", connecting: "bg-warn", offline: "bg-danger" } as const;

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
  return (
    <div role="status" className="sticky top-0 z-10">
      {link === "offline" && (
        <div className="flex items-center gap-3 border-warn/30 border-b bg-warn-soft py-1 pr-2 pl-4 text-warn md:pl-10">
          <CloudOff aria-hidden className="size-5 shrink-0" />
          <p className="min-w-0 flex-1 font-medium text-sm">
            {known_at === null
              ? "Offline. The server cannot be reached."
              : `Offline. You see what was known at ${timeOf(known_at)}.`}
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
