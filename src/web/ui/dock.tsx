/** The place at the bottom of the page, or of the open sheet, for bars that must stay in reach. */

import { type ReactNode, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { createObservable } from "../observable.ts";
import { classes } from "./classes.ts";

/** The docks in the page; the last one is in the foreground. */
const docks = createObservable<readonly HTMLElement[]>([]);

function register(dock: HTMLElement | null): (() => void) | undefined {
  if (!dock) return;
  docks.set([...docks.get(), dock]);
  return () => docks.set(docks.get().filter((one) => one !== dock));
}

/** A place for the children of {@link InDock}. It takes room of its own, so that bars never hide the end of a view. */
export function Dock({ className }: { className: string }) {
  return (
    <div
      ref={register}
      data-dock
      className={classes("flex flex-col gap-2 empty:hidden", className)}
    />
  );
}

/** Shows its children in the dock in the foreground. */
export function InDock({ children }: { children: ReactNode }) {
  const dock = useSyncExternalStore(docks.subscribe, docks.get).at(-1);
  return dock ? createPortal(children, dock) : null;
}
