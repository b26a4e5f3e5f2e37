/** The bar that finishes or deletes the chosen tasks. */

import { Check, Trash2, X } from "lucide-react";
import { isOpen } from "../../state/task-order.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { InDock } from "../../ui/dock.tsx";
import { useTrialEnd } from "../account/trial.tsx";
import { deleteTasks, endTasks } from "../changes.ts";
import { useSession, useStore } from "../use-store.ts";
import type { Choice } from "./use-choice.ts";

export function ChosenTasks({ choice }: { choice: Choice }) {
  const session = useSession();
  const in_trial = useTrialEnd() !== null;
  useStore(({ versions }) => versions.tasks);
  const { chosen, stop, chooseAll } = choice;
  if (!chosen) return null;
  const tasks = [...chosen].flatMap((id) => session.store.all.tasks.get(id) ?? []);
  const open = tasks.filter(({ status }) => isOpen(status));
  return (
    <InDock>
      <section
        aria-label="Chosen tasks"
        className="order-last rounded-2xl border border-line bg-surface p-2 shadow-lift"
      >
        <div className="flex items-center gap-1">
          <p role="status" className="min-w-0 flex-1 pl-2 font-medium">
            {`${tasks.length} chosen`}
          </p>
          <Button variant="quiet" onClick={chooseAll}>
            Choose all
          </Button>
          <IconButton label="Stop choosing" onClick={stop}>
            <X aria-hidden className="size-5" />
          </IconButton>
        </div>
        <div className="mt-1 flex gap-2">
          <Button
            variant="primary"
            className="flex-1"
            disabled={open.length === 0}
            onClick={() => {
              stop();
              void endTasks(session, "done", open);
            }}
          >
            <Check aria-hidden className="size-4" />
            {`Finish ${open.length}`}
          </Button>
          {!in_trial && (
            <Button
              variant="warning"
              className="flex-1"
              disabled={tasks.length === 0}
              onClick={() => {
                stop();
                deleteTasks(session, tasks);
              }}
            >
              <Trash2 aria-hidden className="size-4" />
              {`Delete ${tasks.length}`}
            </Button>
          )}
        </div>
      </section>
    </InDock>
  );
}
