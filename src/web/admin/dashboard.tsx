/** The admin page after the sign-in: whether all is well, the people, and below what a developer needs. */

import { ChevronRight, LogOut } from "lucide-react";
import { useState } from "react";
import { Logo } from "../person/logo.tsx";
import type { Fault } from "../state/api.ts";
import { local } from "../state/storage.ts";
import { Ago } from "../ui/ago.tsx";
import { Button } from "../ui/button.tsx";
import { classes } from "../ui/classes.ts";
import { Problem } from "../ui/parts.tsx";
import { Toasts } from "../ui/toast.tsx";
import type { AdminApi } from "./api.ts";
import { Developers } from "./developers.tsx";
import { People } from "./people.tsx";
import { type PolledFigures, useFigures } from "./poll.ts";
import { Title } from "./title.tsx";
import { WellBeing } from "./well-being.tsx";

/** A refused token is kept: only the operator knows whether it has been replaced. */
function problemOf({ code, message }: Fault): string {
  if (code !== "unauthorized") return message;
  return "The server doesn't accept this tab's token. If ADMIN_TOKEN has changed, sign out and enter the new one. Otherwise, this page keeps trying.";
}

/** Name in local storage: set while the part for developers is open. */
const OPEN = "admin-developers";

interface DashboardProps {
  readonly api: AdminApi;
  readonly onLeave: () => void;
}

export function Dashboard({ api, onLeave }: DashboardProps) {
  const [developing, setDeveloping] = useState(() => local.get(OPEN) !== null);
  const polled = useFigures(api, developing);
  const { figures, faults, fault } = polled;
  const develop = (open: boolean) => {
    setDeveloping(open);
    if (open) local.set(OPEN, "1");
    else local.remove(OPEN);
  };
  return (
    <div className="mx-auto max-w-7xl px-4 pb-16 sm:px-6 lg:px-10">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 py-5">
        <Logo />
        <Title className="font-semibold text-xl tracking-tight" />
        <Live polled={polled} />
        <Button variant="quiet" className="ml-auto" onClick={onLeave}>
          <LogOut aria-hidden className="size-4" />
          Sign out
        </Button>
      </header>
      <main className="space-y-5">
        {fault && <Problem>{problemOf(fault)}</Problem>}
        {!fault && faults.health && <Problem>{faults.health.message}</Problem>}
        <WellBeing health={figures.health} />
        <People api={api} />
        <details open={developing} onToggle={({ currentTarget }) => develop(currentTarget.open)}>
          <summary className="touch inline-flex cursor-pointer items-center gap-2 font-semibold text-lg">
            <ChevronRight
              aria-hidden
              className="size-5 text-faint transition-transform [details[open]_&]:rotate-90"
            />
            For developers
          </summary>
          {developing && <Developers polled={polled} />}
        </details>
      </main>
      <Toasts />
    </div>
  );
}

function Live({ polled: { at, fault } }: { polled: PolledFigures }) {
  const live = at !== null && fault === null;
  return (
    <p role="status" data-live={live} className="flex items-center gap-2 text-faint text-sm">
      <span
        aria-hidden
        className={classes(
          "size-2.5 forced-color-adjust-none rounded-full",
          live ? "bg-ok" : fault ? "bg-danger" : "bg-edge",
        )}
      />
      {live ? (
        "Live"
      ) : at === null ? (
        "Loading"
      ) : (
        <>
          Last updated <Ago at={at} />
        </>
      )}
    </p>
  );
}
