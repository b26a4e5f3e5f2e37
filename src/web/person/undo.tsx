/** Bars that undo what the person has just changed, or say what could not be changed. */

import { type PointerEvent, useEffect, useRef, useSyncExternalStore } from "react";
import { type ChangeAction, isUndoable, type WaitingChange, waits } from "../state/changes.ts";
import { UNDOABLE, unmadeChanges } from "../state/waiting-changes.ts";
import { InDock } from "../ui/dock.tsx";
import { toast } from "../ui/toast.tsx";
import { say } from "./questions/announcer.tsx";
import { useWaitingChanges } from "./use-change.ts";
import { useSession, useStore } from "./use-store.ts";

const DONE: Readonly<Record<ChangeAction, string>> = {
  finish: "finished",
  cancel: "cancelled",
  delete: "deleted",
  "delete agent": "deleted",
};

/** What the change is about, such as `Task` or `3 tasks`. */
function nounOf({ action, subjects: { length } }: WaitingChange): string {
  if (action === "delete agent") return "Agent";
  return length === 1 ? "Task" : `${length} tasks`;
}

/** Such as `Task deleted`. */
const titleOf = (one: WaitingChange): string => `${nounOf(one)} ${DONE[one.action]}`;

/** The name of a change's only subject; null if there are several. */
const nameOf = ({ subjects }: WaitingChange): string | null =>
  subjects.length === 1 ? (subjects[0]?.name ?? null) : null;

/** The change with its subjects that wait, or with those that were refused. */
const part = (one: WaitingChange, is_waiting: boolean): WaitingChange => ({
  ...one,
  subjects: one.subjects.filter((subject) => waits(subject) === is_waiting),
});

export function UndoBars() {
  const { waitingChanges } = useSession();
  const changes = useWaitingChanges();
  const offline = useStore((store) => store.connection() === "offline");
  const refused = changes.map((one) => part(one, false)).filter(({ subjects }) => subjects.length);
  const waiting = changes
    .map((one) => part(one, true))
    .filter((one) => one.subjects.length > 0 && (isUndoable(one) || offline || one.failed));
  const shown = waiting.slice(-UNDOABLE);
  const more = waiting.length - shown.length;
  useAnnouncements(changes);
  useUndoKey();
  if (refused.length + waiting.length === 0) return null;
  return (
    <InDock>
      <section aria-label="Recent changes" className="contents">
        {refused.map((one) => (
          <Refused key={one.id} change={one} onSeen={() => waitingChanges.dismiss(one.id)} />
        ))}
        {more > 0 && (
          <p className="rounded-xl bg-ink px-4 py-2 text-bg text-sm shadow-lift">
            {more === 1 ? "1 more change waits to be sent" : `${more} more changes wait to be sent`}
          </p>
        )}
        {shown.map((one) => (
          <Bar key={one.id} change={one} late={offline || one.failed !== undefined} />
        ))}
      </section>
    </InDock>
  );
}

interface BarProps {
  readonly change: WaitingChange;
  /** True if it cannot be sent at the moment. */
  readonly late: boolean;
}

function Bar({ change, late }: BarProps) {
  const { waitingChanges } = useSession();
  const { id, failed } = change;
  const name = nameOf(change);
  const held = useRef(false);
  /** The time does not run out while the person is at the button. */
  const hold = (is_held: boolean) => {
    if (held.current === is_held) return;
    held.current = is_held;
    waitingChanges.hold(id, is_held);
  };
  useEffect(
    () => () => {
      if (held.current) waitingChanges.hold(id, false);
    },
    [id, waitingChanges],
  );
  // A pointer that was there before the bar does not count.
  const onPointerMove = ({ pointerType, movementX, movementY }: PointerEvent) =>
    pointerType === "mouse" && (movementX !== 0 || movementY !== 0) && hold(true);
  const undo = () => {
    held.current = false;
    const undone = waitingChanges.undo(id);
    // Another tab may have sent it.
    if (!undone) toast("Too late to undo: it was sent", { bad: true });
    const [first] = undone?.subjects ?? [];
    if (first) focusLater(first.id);
  };
  return (
    <fieldset
      aria-labelledby={`${id}-done`}
      onPointerMove={onPointerMove}
      onPointerLeave={() => hold(false)}
      onFocus={() => hold(true)}
      onBlur={() => hold(false)}
      // Where there is little room, the last one alone is shown.
      className="flex min-w-0 items-center gap-2 rounded-xl bg-ink py-1 pr-1 pl-4 text-bg shadow-lift [@media(max-height:40rem)]:not-last:hidden"
    >
      <p id={`${id}-done`} className="min-w-0 flex-1 py-1.5">
        <span className="flex gap-1 whitespace-nowrap">
          <span className="font-medium">{titleOf(change)}</span>
          {name !== null && (
            <>
              {" "}
              <bdi className="truncate">{name}</bdi>
            </>
          )}
        </span>
        {late && (
          <span className="block text-sm">{`Not sent yet. ${failed ?? "The server can't be reached."}`}</span>
        )}
      </p>
      {isUndoable(change) && (
        <button
          type="button"
          aria-describedby={`${id}-done`}
          aria-keyshortcuts="Control+Z Meta+Z"
          title="Undo (Ctrl + Z)"
          onClick={undo}
          className="touch shrink-0 rounded-lg px-4 font-semibold underline-offset-4 outline-bg hover:underline"
        >
          Undo
        </button>
      )}
    </fieldset>
  );
}

/** Frames in which what is undone should be back in the view. */
const FRAMES = 10;

/** Focuses what is back in the view once it is rendered. */
function focusLater(id: string, frames = FRAMES): void {
  const links = ["#/tasks/", "#/agents/"].map((to) => `a[href^="${to}${id}"]`).join();
  requestAnimationFrame(() => {
    const found = document.querySelector<HTMLElement>(
      `main :is(${links}, button[data-task="${id}"])`,
    );
    if (found) found.focus({ preventScroll: true });
    else if (frames > 0) focusLater(id, frames - 1);
  });
}

function Refused({ change, onSeen }: { change: WaitingChange; onSeen: () => void }) {
  const { subjects } = change;
  return (
    <div className="flex items-start gap-2 rounded-xl bg-danger py-1 pr-1 pl-4 text-danger-ink shadow-lift">
      <div className="min-w-0 flex-1 py-1.5">
        <p className="font-medium">{refusalOf(change)}</p>
        <ul className="mt-0.5 max-h-32 overflow-y-auto text-sm">
          {subjects.map(({ id, name, refused }) => (
            <li key={id} className="said">
              <bdi dir="auto">{name}</bdi>
              {`: ${refused}`}
            </li>
          ))}
        </ul>
      </div>
      <button
        type="button"
        aria-label={`OK, dismiss: ${refusalOf(change)}`}
        onClick={onSeen}
        className="touch shrink-0 rounded-lg px-4 font-semibold underline-offset-4 outline-danger-ink hover:underline"
      >
        OK
      </button>
    </div>
  );
}

/** Changes that waited when the sign-in was ended elsewhere, so that they are not lost without a word. */
export function UnmadeChanges() {
  const unmade = useSyncExternalStore(unmadeChanges.subscribe, unmadeChanges.get);
  return unmade.map((one) => (
    <p key={one.id} className="mt-3 text-warn">
      <span className="font-medium">{`${refusalOf(one)}, since this browser was signed out first: `}</span>
      <bdi>{one.subjects.map(({ name }) => name).join(", ")}</bdi>
    </p>
  ));
}

/** Such as `Task not deleted`. */
const refusalOf = (one: WaitingChange): string => `${nounOf(one)} not ${DONE[one.action]}`;

/** Says each change of this tab once, and each refusal. */
function useAnnouncements(changes: readonly WaitingChange[]): void {
  const { waitingChanges } = useSession();
  const said = useRef(new Set<string>());
  useEffect(() => {
    for (const one of changes) {
      const refused = part(one, false);
      const texts: [string, string | null][] = [
        [
          one.id,
          waitingChanges.isOwn(one.id) && isUndoable(one)
            ? `${[titleOf(one), nameOf(one) ?? []].flat().join(": ")}. Press Control Z to undo.`
            : null,
        ],
        [
          `${one.id} ${refused.subjects.length}`,
          refused.subjects.length > 0
            ? `${refusalOf(refused)}: ${refused.subjects[0]?.refused ?? ""}`
            : null,
        ],
      ];
      for (const [key, text] of texts) {
        if (text === null || said.current.has(key)) continue;
        said.current.add(key);
        say(text);
      }
    }
  }, [changes, waitingChanges]);
}

/** Undoes the last change by Ctrl + Z or ⌘ Z, except where that undoes typing. */
function useUndoKey(): void {
  const { waitingChanges } = useSession();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, code, ctrlKey, metaKey, shiftKey, altKey, target } = event;
      // Where the layout has no Latin letters, the position of the key counts.
      const is_z = key.toLowerCase() === "z" || (code === "KeyZ" && !/^[a-z]$/i.test(key));
      if (!is_z || !(ctrlKey || metaKey) || shiftKey || altKey || event.defaultPrevented) return;
      if ((target as Element).closest("input:not([type=checkbox]), textarea, select")) return;
      if (document.querySelector("[role=alertdialog]")) return;
      const last = waitingChanges.all().filter(isUndoable).at(-1);
      if (!last || !waitingChanges.undo(last.id)) return;
      event.preventDefault();
      say("Undone");
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [waitingChanges]);
}
