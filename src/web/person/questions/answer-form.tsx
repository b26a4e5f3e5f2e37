/** The form for a free-text answer. */

import { CornerDownLeft } from "lucide-react";
import { useEffect } from "react";
import { Button } from "../../ui/button.tsx";
import { useDraft } from "../use-draft.ts";

export const draftName = (question_id: string): string => `answer ${question_id}`;

interface AnswerFormProps {
  readonly id: string;
  readonly autoFocus?: boolean;
  readonly expired: boolean;
  readonly busy: boolean;
  /** Resolves to true once the question is closed. */
  readonly onSend: (answer: string) => Promise<boolean>;
  /** Called with whether there is unsent text. */
  readonly onDraft: (typed: boolean) => void;
}

export function AnswerForm({ id, autoFocus, expired, busy, onSend, onDraft }: AnswerFormProps) {
  const { value: text, set, forget } = useDraft(draftName(id), "");
  const typed = text.trim() !== "";
  useEffect(() => onDraft(typed), [onDraft, typed]);
  const send = async () => {
    if (typed && (await onSend(text))) forget();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        data-answer
        // biome-ignore lint/a11y/noAutofocus: the person has just asked for it.
        autoFocus={autoFocus}
        aria-label="Your answer"
        aria-describedby={`${id}-keys`}
        dir="auto"
        rows={2}
        value={text}
        readOnly={expired}
        onChange={({ target }) => set(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          // Touch keyboards have no Shift+Enter.
          if (matchMedia("(pointer: coarse)").matches) return;
          event.preventDefault();
          if (!event.repeat) void send();
        }}
        placeholder="Your answer"
        className="field-sizing-content max-h-80 min-h-18 w-full resize-none rounded-xl border border-edge bg-surface px-3.5 py-2.5 text-base read-only:bg-sunken read-only:text-soft"
      />
      <div className="mt-2 flex items-center gap-3">
        <p id={`${id}-keys`} className="hidden flex-1 text-faint text-sm md:block">
          Enter to send, Shift+Enter for a new line.
        </p>
        <Button
          type="submit"
          data-careful
          variant="primary"
          busy={busy}
          disabled={expired || !typed}
          className="ml-auto w-full md:w-auto"
        >
          Send
          <CornerDownLeft aria-hidden className="size-4" />
        </Button>
      </div>
    </form>
  );
}
