/** Answers that wait to be sent, and answers that came too late. */

import { CloudUpload } from "lucide-react";
import type { ComponentProps } from "react";
import { faultOf, type Question, withIdempotencyKey } from "../../state/api.ts";
import { draftOf, keepDraft } from "../../state/drafts.ts";
import { beginningOf, type GivenAnswer, type KeptAnswer } from "../../state/kept-answers.ts";
import { Button } from "../../ui/button.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useKeptAnswers, useSession } from "../use-store.ts";

interface WaitingAnswerProps {
  readonly given: GivenAnswer & Pick<KeptAnswer, "reason">;
  /** Called when the person takes the answer back. */
  readonly onChange: () => void;
}

/** Shown in place of the ways to answer. */
export function WaitingAnswer({ given, onChange }: WaitingAnswerProps) {
  const { answer, note, reason } = given;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl bg-accent-soft py-2 pr-2 pl-4">
      <CloudUpload aria-hidden className="size-5 shrink-0 text-accent" />
      <div className="min-w-24 flex-1">
        <p className="font-medium text-accent text-sm">Waiting to be sent</p>
        {reason !== undefined && <p className="text-sm text-soft">{reason}</p>}
        <p dir="auto" className="said whitespace-pre-wrap">
          {answer}
        </p>
        {note !== undefined && (
          <p dir="auto" className="said whitespace-pre-wrap text-soft text-sm">
            {note}
          </p>
        )}
      </div>
      <Button data-answer data-careful variant="quiet" onClick={onChange}>
        Change answer
      </Button>
    </div>
  );
}

/** The answer and note in quotation marks, and the question. */
export function AnswerQuote({
  given: { answer, prompt, note },
}: {
  given: Pick<KeptAnswer, "answer" | "prompt" | "note">;
}) {
  return (
    <>
      “<bdi dir="auto">{answer}</bdi>” to “
      <bdi dir="auto">
        <OneLine text={prompt} />
      </bdi>
      ”
      {note !== undefined && (
        <>
          , with the note “<bdi dir="auto">{note}</bdi>”
        </>
      )}
    </>
  );
}

const REASONS: Readonly<Record<NonNullable<KeptAnswer["refused"]>, string>> = {
  answered: "the question had been answered elsewhere",
  expired: "the question had expired",
  cancelled: "the question had been cancelled",
  gone: "the question no longer exists",
  invalid: "the server didn't accept it",
};

/** Answers that the server did not accept, each until the person dismisses it. */
export function RefusedAnswers() {
  const refused = useKeptAnswers().filter((one) => one.refused !== null);
  return (
    <div role="status">
      {refused.map((one) => (
        <RefusedAnswer key={one.question_id} given={one} />
      ))}
    </div>
  );
}

function RefusedAnswer({ given }: { given: KeptAnswer }) {
  const { keptAnswers } = useSession();
  const { question_id, key_id, prompt, refused: why, draft, reason } = given;
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-3 rounded-xl bg-warn-soft py-1 pr-1 pl-4 text-warn">
      <p className="said min-w-40 flex-1 py-2 text-sm">
        <span className="font-medium">
          {reason === undefined
            ? `Your ${draft ? "draft" : "answer"} wasn't sent: ${REASONS[why!]}.`
            : `Your answer wasn't sent. ${reason}`}
        </span>
        <span className="line-clamp-2">
          <AnswerQuote given={{ answer: given.answer, prompt }} />
        </span>
        {given.note !== undefined && (
          <span className="line-clamp-2">
            With the note “<bdi dir="auto">{given.note}</bdi>”
          </span>
        )}
      </p>
      {why === "expired" && key_id !== undefined && (
        <LateAnswer
          question={{ id: question_id, key_id, prompt }}
          given={given}
          onSent={(earlier) => earlier || keptAnswers.drop(question_id)}
        >
          Send as a message
        </LateAnswer>
      )}
      {why === "invalid" && reason !== undefined && (
        <Button variant="quiet" onClick={() => keptAnswers.retry(question_id)}>
          Send again
        </Button>
      )}
      <Button
        variant="quiet"
        aria-label="OK, dismiss this answer"
        onClick={() => keptAnswers.drop(question_id)}
      >
        OK
      </Button>
    </div>
  );
}

/** Name under which this tab remembers which answer to an expired question was sent. */
const lateName = (question_id: string): string => `late ${question_id}`;

/** The answer that was sent as a message, as far as this tab knows; empty if another device sent it, null if none was. */
export const lateAnswer = (question_id: string): string | null =>
  draftOf<string>(lateName(question_id))?.value ?? null;

interface LateAnswerProps extends Omit<ComponentProps<typeof Button>, "onClick" | "onSubmit"> {
  readonly question: Pick<Question, "id" | "key_id" | "prompt">;
  readonly given: GivenAnswer;
  /** Called when this answer was sent; with `earlier`, when another one had been. */
  readonly onSent: (earlier: boolean) => void;
}

/**
 * A button that sends an answer to an expired question as a message to its agent. All answers to a question share
 * one idempotency key, so that only one is sent, from whatever device.
 */
export function LateAnswer({ question, given, onSent, ...rest }: LateAnswerProps) {
  const { api } = useSession();
  const { busy, run } = useAction();
  const { id, key_id, prompt } = question;
  const send = async () => {
    const body = { key_id, text: messageOf(prompt, given) };
    let earlier = false;
    const done = await run(() =>
      api.messages.send.mutate(body, withIdempotencyKey(`late ${id}`)).catch((error: unknown) => {
        earlier = faultOf(error).code === "idempotency_mismatch";
        if (!earlier) throw error;
      }),
    );
    if (!done) {
      toast("The message wasn't sent. Try again; it won't be sent twice.", { bad: true });
      return;
    }
    keepDraft(lateName(id), earlier ? "" : given.answer);
    if (earlier) toast("Not sent: you've already sent an answer to this question", { bad: true });
    else toast("Message sent", { href: `#/agents/${key_id}/inbox` });
    onSent(earlier);
  };
  return <Button {...rest} busy={busy} onClick={() => void send()} />;
}

/** Characters of a message, at most: `message` of §10.1. */
const MESSAGE = 4_000;

/** The text of the message: the answer, with the question that it answers if that fits. */
function messageOf(prompt: string, { answer, note }: GivenAnswer): string {
  const words = note === undefined ? answer : `${answer}\n${note}`;
  const text = `My answer to “${beginningOf(prompt)}”, which had expired: ${words}`;
  return [text, words].find((one) => [...one].length <= MESSAGE) ?? answer;
}
