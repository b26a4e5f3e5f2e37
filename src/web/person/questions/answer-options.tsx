/**
 * The ways to answer a question with options: one of them, another answer if the question permits
 * it, and a note.
 */

import { Check, MessageSquarePlus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Question } from "../../state/api.ts";
import { draftOf } from "../../state/drafts.ts";
import { Button } from "../../ui/button.tsx";
import { classes } from "../../ui/classes.ts";
import { AreaField } from "../../ui/field.tsx";
import { useDraft } from "../use-draft.ts";
import { AnswerForm, draftName } from "./answer-form.tsx";
import { isPaired, keysOf } from "./answer-keys.ts";
import { DENY } from "./permission-words.ts";

/** Icons of the two answers shown side by side, such as Yes and No. */
const PAIR = [Check, X] as const;

/** Characters of a note, at most: `note` of §10.1. */
const NOTE = 1_000;

/** True if a note has more characters than an answer can have. */
export const isNoteTooLong = (note: string): boolean => [...note.trim()].length > NOTE;

export const noteName = (question_id: string): string => `note ${question_id}`;

/** Shown only on the card whose keys work: it has the focus, and no text is being typed there. */
const Key = ({ children }: { children: string }) => (
  <kbd
    aria-hidden
    translate="no"
    className="absolute right-3 hidden rounded-md border border-current/30 px-1.5 font-mono text-xs leading-5 opacity-80 md:group-[:focus-within:not(:has(textarea:focus))]/card:inline"
  >
    {children}
  </kbd>
);

interface AnswerOptionsProps {
  readonly question: Question;
  readonly expired: boolean;
  /** The answer that is being sent. */
  readonly sending: string | null;
  /** True: of a permission prompt that has not been read to its end, only Deny can be chosen. */
  readonly locked: boolean;
  /** Resolves to true once the question is closed. */
  readonly onPick: (answer: string) => Promise<boolean>;
  readonly onDraft: (typed: boolean) => void;
}

export function AnswerOptions(props: AnswerOptionsProps) {
  const { question, expired, sending, locked, onPick, onDraft } = props;
  const { id, options, allow_other = false } = question;
  const paired = isPaired(question);
  const keys = keysOf(question);
  const [other, setOther] = useState(() => draftOf(draftName(id)) !== null);
  const [focused, setFocused] = useState(false);
  return (
    <>
      <fieldset
        aria-label={paired ? "Answers" : "The agent's answers"}
        className={classes("min-w-0", paired ? "grid gap-3 min-[17rem]:grid-cols-2" : "space-y-2")}
      >
        {options.map((option, at) => {
          const pair = paired && at < PAIR.length;
          const Icon = PAIR[at];
          const barred = locked && option !== DENY;
          const off = expired || barred || (sending !== null && sending !== option);
          const key = off || sending !== null ? undefined : keys[at];
          return (
            <Button
              key={option}
              data-answer
              data-careful
              data-key={key}
              variant={pair && at === 0 ? "primary" : "plain"}
              disabled={off}
              busy={sending === option}
              aria-describedby={barred ? `${id}-read` : undefined}
              className={classes(
                "relative w-full md:pr-11",
                pair
                  ? "md:pl-11"
                  : paired
                    ? "min-[17rem]:col-span-2 md:pl-11"
                    : "justify-start text-left",
              )}
              onClick={() => void onPick(option)}
            >
              {pair && Icon && <Icon aria-hidden className="size-4.5" />}
              <span className="min-w-0">
                {!paired && <span aria-hidden>“</span>}
                <bdi dir="auto" className="said">
                  {option}
                </bdi>
                {!paired && <span aria-hidden>”</span>}
              </span>
              {key !== undefined && <Key>{key}</Key>}
            </Button>
          );
        })}
      </fieldset>
      {allow_other && other && (
        <div className="mt-3">
          <AnswerForm
            autoFocus={focused}
            id={id}
            expired={expired}
            busy={sending !== null && !options.includes(sending)}
            onSend={onPick}
            onDraft={onDraft}
          />
        </div>
      )}
      <Note id={id} expired={expired}>
        {allow_other && !other && (
          <Button
            variant="quiet"
            disabled={expired}
            onClick={() => {
              setOther(true);
              setFocused(true);
            }}
          >
            Other…
          </Button>
        )}
      </Note>
    </>
  );
}

/** A field for a note to the answer, which a button opens. */
function Note({
  id,
  expired,
  children,
}: {
  readonly id: string;
  readonly expired: boolean;
  /** Buttons before the one that opens the note. */
  readonly children: ReactNode;
}) {
  const { value, set } = useDraft(noteName(id), "");
  const [open, setOpen] = useState(value !== "");
  const [focused, setFocused] = useState(false);
  return (
    <>
      {(!open || children) && (
        <div className="mt-2 -ml-4 flex flex-wrap gap-1">
          {children}
          {!open && (
            <Button
              variant="quiet"
              disabled={expired}
              onClick={() => {
                setOpen(true);
                setFocused(true);
              }}
            >
              <MessageSquarePlus aria-hidden className="size-4" />
              Add a note
            </Button>
          )}
        </div>
      )}
      {open && (
        <div className="mt-3">
          <AreaField
            autoFocus={focused}
            label="Note"
            hint="Sent with your answer."
            rows={2}
            className="min-h-18"
            error={isNoteTooLong(value) ? "must have at most 1,000 characters" : undefined}
            readOnly={expired}
            value={value}
            onChange={({ target }) => set(target.value)}
          />
        </div>
      )}
    </>
  );
}
