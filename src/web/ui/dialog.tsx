/** Dialogs: a sheet for content, and a confirmation for actions that cannot be undone. */

import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { type Fault, faultOf } from "../state/api.ts";
import { Button } from "./button.tsx";
import { Dock } from "./dock.tsx";
import { toast } from "./toast.tsx";

const SHADE =
  "fixed inset-0 bg-shade transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0";

/**
 * Selector of the field that gets the focus: the first one that is typed into, or a required select before
 * it that is empty.
 */
export const FIRST_FIELD = ":is(select:invalid, input, textarea)";

interface SheetProps {
  readonly open: boolean;
  readonly onClose: () => void;
  /** Called once it has slid out. */
  readonly onClosed?: () => void;
  readonly title: ReactNode;
  readonly children: ReactNode;
}

/** A dialog that slides in: full screen on phones, at the right on desktops. */
export function Sheet({ open, onClose, onClosed, title, children }: SheetProps) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(next) => !next && onClose()}
      onOpenChangeComplete={(next) => !next && onClosed?.()}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className={`${SHADE} z-30`} />
        <Dialog.Popup
          ref={popup}
          initialFocus={() =>
            popup.current?.querySelector<HTMLElement>(`form ${FIRST_FIELD}`) ?? true
          }
          className="fixed inset-0 z-40 flex flex-col bg-surface short:block short:overflow-y-auto transition-transform duration-200 ease-out data-ending-style:translate-x-full data-starting-style:translate-x-full sm:left-auto sm:w-[32rem] sm:border-line sm:border-l sm:shadow-lift"
        >
          <header className="flex items-start gap-2 border-line border-b py-2 pr-2 pl-5">
            <Dialog.Title className="said min-w-0 flex-1 self-center py-1.5 font-semibold text-lg leading-snug">
              {title}
            </Dialog.Title>
            <Dialog.Close
              aria-label="Close"
              title="Close"
              className="touch inline-flex items-center justify-center rounded-xl text-soft hover:bg-sunken hover:text-ink"
            >
              <X aria-hidden className="size-5" />
            </Dialog.Close>
          </header>
          <div className="min-h-0 flex-1 overflow-y-auto overscroll-contain p-5 pb-[max(1.25rem,env(safe-area-inset-bottom))]">
            {children}
          </div>
          <Dock className="px-4 pt-2 pb-[max(0.75rem,env(safe-area-inset-bottom))] short:sticky short:bottom-0" />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ConfirmProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly children: ReactNode;
  /** Label of the confirming button. */
  readonly action: string;
  /**
   * Carries out the action. The dialog stays open while it runs, and shows the error if it fails;
   * if the dialog was removed in the meantime, a toast shows it.
   */
  readonly onConfirm: () => Promise<unknown>;
}

export function Confirm({ open, onClose, title, children, action, onConfirm }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const shown = useRef(false);
  useLayoutEffect(() => {
    shown.current = open;
    if (open) setFault(null);
    return () => {
      shown.current = false;
    };
  }, [open]);
  const confirm = async () => {
    setBusy(true);
    setFault(null);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      const why = faultOf(error);
      if (shown.current) setFault(why);
      else toast(`${action}: ${why.message}`, { bad: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && !busy && onClose()}>
      <AlertDialog.Portal>
        {/* Above a sheet too. */}
        <AlertDialog.Backdrop forceRender className={`${SHADE} z-40`} />
        <AlertDialog.Popup className="card fixed inset-x-4 bottom-4 z-40 mx-auto max-h-[calc(100dvh-2rem)] max-w-md overflow-y-auto p-6 transition duration-150 data-ending-style:scale-95 data-starting-style:scale-95 data-ending-style:opacity-0 data-starting-style:opacity-0 sm:top-1/2 sm:bottom-auto sm:-translate-y-1/2">
          <AlertDialog.Title className="said font-semibold text-lg leading-snug">
            {title}
          </AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-soft" render={<div />}>
            {children}
          </AlertDialog.Description>
          {fault && (
            <p role="alert" className="mt-4 rounded-xl bg-danger-soft px-4 py-3 text-danger">
              {fault.message}
            </p>
          )}
          <div className="mt-6 flex flex-wrap justify-end gap-3">
            <AlertDialog.Close disabled={busy} render={<Button>Cancel</Button>} />
            <Button variant="danger" busy={busy} onClick={() => void confirm()}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
