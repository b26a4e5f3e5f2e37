/** The form for a draft: the person approves it as it is, or sends it changed. */

import { Check, CornerDownLeft } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { hidesText } from "../../../text/hidden.ts";
import type { Question } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { useMeasured } from "../../ui/use-measured.ts";
import { useDraft } from "../use-draft.ts";
import { labelOf, useKey } from "../use-store.ts";
import { draftName } from "./answer-form.tsx";
import { isSameText, withLineFeeds } from "./same-text.ts";

/** Lines, at least and at most, of the field in browsers that do not fit its height to the text; letters of a line. */
const LINES = [3, 14] as const;
const LETTERS = 60;

function linesOf(text: string): number {
  const lines = text
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LETTERS)), 0);
  return Math.min(LINES[1], Math.max(LINES[0], lines));
}

/** Pixels from the end of the field at which its text counts as read to the end. */
const NEAR_END = 24;

const MODIFIER = /^(Mac|iP)/.test(navigator.platform) ? "⌘" : "Ctrl+";

interface DraftFormProps {
  readonly question: Pick<Question, "id" | "key_id">;
  readonly draft: string;
  readonly expired: boolean;
  readonly busy: boolean;
  /** Resolves to true once the question is closed. */
  readonly onSend: (answer: string) => Promise<boolean>;
  /** Called with whether there is unsent text. */
  readonly onDraft: (typed: boolean) => void;
}

export function DraftForm({ question, draft, expired, busy, onSend, onDraft }: DraftFormProps) {
  const { id, key_id } = question;
  const key = useKey(key_id);
  const original = withLineFeeds(draft);
  const { value: text, set, forget } = useDraft(draftName(id), original);
  /** The person's text that the draft has just replaced. */
  const [replaced, setReplaced] = useState<string | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const scrolls = useMeasured(
    field,
    text,
    ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + NEAR_END,
  );
  const [end_seen, setEndSeen] = useState(false);
  const changed = !isSameText(text, draft);
  const blank = text.trim() === "";
  useEffect(() => onDraft(changed && !blank), [onDraft, changed, blank]);

  const send = async () => {
    if (!blank && (await onSend(changed ? text : draft))) forget();
  };
  const write = (next: string) => {
    setReplaced(null);
    if (next === original) forget();
    else set(next);
  };
  const restore = () => {
    if (replaced !== null) return write(replaced);
    forget();
    setReplaced(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, nativeEvent } = event;
    if (key !== "Enter" || !(ctrlKey || metaKey) || nativeEvent.isComposing) return;
    event.preventDefault();
    if (!event.repeat && !expired && !busy) void send();
  };

  return (
    // The key handler sends from the field and the buttons.
    <form
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label htmlFor={`${id}-draft`} className="said mb-1.5 block text-soft text-sm">
        <span>{changed ? "Edited draft from " : "Draft from "}</span>
        <bdi className="font-medium">{labelOf(key)}</bdi>
      </label>
      <textarea
        ref={field}
        id={`${id}-draft`}
        aria-describedby={`${id}-notes ${id}-keys`}
        dir="auto"
        rows={linesOf(text)}
        value={text}
        readOnly={expired}
        onChange={({ target }) => write(target.value)}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          if (scrollTop + clientHeight > scrollHeight - NEAR_END) setEndSeen(true);
        }}
        className="field-sizing-content max-h-[60dvh] min-h-24 w-full resize-none rounded-xl border border-edge bg-surface px-3.5 py-2.5 text-base leading-6 read-only:bg-sunken read-only:text-soft"
      />
      <div id={`${id}-notes`} className="text-sm text-warn">
        {scrolls && !end_seen && <p className="mt-1">Scroll in the field to read the end.</p>}
        {hidesText(text) && (
          <p className="mt-1">The text has characters that can't be seen or change its order.</p>
        )}
      </div>
      <div className="mt-2 flex flex-wrap items-center gap-x-3 gap-y-2">
        <p id={`${id}-keys`} className="hidden flex-1 text-faint text-sm md:block">
          {`${MODIFIER}Enter to ${changed ? "send" : "approve"}.`}
        </p>
        {(changed || replaced !== null) && !expired && (
          <Button variant="quiet" className="-ml-2 md:ml-0" onClick={restore}>
            {replaced === null ? "Restore the draft" : "Undo"}
          </Button>
        )}
        <Button
          type="submit"
          data-answer
          data-careful
          variant="primary"
          busy={busy}
          disabled={expired || blank}
          className="ml-auto w-full md:w-auto"
        >
          {changed ? "Send" : "Approve"}
          {changed ? (
            <CornerDownLeft aria-hidden className="size-4" />
          ) : (
            <Check aria-hidden className="size-4.5" />
          )}
        </Button>
      </div>
    </form>
  );
}
