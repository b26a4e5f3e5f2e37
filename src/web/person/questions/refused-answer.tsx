/** A text that was not sent, since what it is about has ended: to copy, or to send as a message. */

import type { ComponentProps } from "react";
import { faultOf, type Question, withIdempotencyKey } from "../../state/api.ts";
import { draftOf, keepDraft } from "../../state/drafts.ts";
import { beginningOf, type GivenAnswer, type KeptAnswer } from "../../state/kept-answers.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy.ts";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useKey, useSession } from "../use-store.ts";
import { AnswerQuote } from "./kept-answers.tsx";

type Refusal = NonNullable<KeptAnswer["refused"]>;

const REASONS: Readonly<Record<Refusal, string>> = {
  answered: "the question had been answered elsewhere",
  expired: "the question had expired",
  cancelled: "the question had been cancelled",
  gone: "the question no longer exists",
  task: "the task was deleted",
  agent: "the agent was deleted",
  invalid: "the server didn't accept it",
};

export function RefusedAnswer({ given }: { given: KeptAnswer }) {
  const { keptAnswers } = useSession();
  const { question_id, key_id = "", prompt, answer, note, refused: why, draft, reason } = given;
  const key = useKey(key_id);
  const copy = async () => {
    const copied = await copyText(note === undefined ? answer : `${answer}\n${note}`);
    toast(copied ? "Copied" : "Your browser blocked copying", { bad: !copied });
  };
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-3 rounded-xl bg-warn-soft py-1 pr-1 pl-4 text-warn">
      <p className="said min-w-40 flex-1 py-2 text-sm">
        <span className="font-medium">
          {reason === undefined
            ? `Your ${draft ? "draft" : "answer"} wasn't sent: ${REASONS[why!]}.`
            : `Your answer wasn't sent. ${reason}`}
        </span>
        <span className="line-clamp-2">
          <AnswerQuote given={{ answer, prompt }} />
        </span>
        {note !== undefined && (
          <span className="line-clamp-2">
            With the note “<bdi dir="auto">{note}</bdi>”
          </span>
        )}
      </p>
      {why !== "invalid" && key && (
        <LateAnswer
          question={{ id: question_id, key_id, prompt }}
          given={given}
          why={why!}
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
      <Button variant="quiet" onClick={() => void copy()}>
        Copy
      </Button>
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
  /** Why it was not sent as an answer. */
  readonly why: Refusal;
  /** Called when this answer was sent; with `earlier`, when another one had been. */
  readonly onSent: (earlier: boolean) => void;
}

/**
 * A button that sends an answer to a question that has ended as a message to its agent. All answers to a question share
 * one idempotency key, so that only one is sent, from whatever device.
 */
export function LateAnswer({ question, given, why, onSent, ...rest }: LateAnswerProps) {
  const { api } = useSession();
  const { busy, run } = useAction();
  const { id, key_id, prompt } = question;
  const send = async () => {
    const body = { key_id, text: messageOf(prompt, why, given) };
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

/** What had happened, in the message. */
const ENDS: Readonly<Record<Refusal, string>> = {
  answered: ", which had been answered",
  expired: ", which had expired",
  cancelled: ", which had been cancelled",
  gone: "",
  task: ", which had been deleted",
  agent: "",
  invalid: "",
};

/** The text of the message: the answer, with the question that it answers if that fits. */
function messageOf(prompt: string, why: Refusal, { answer, note }: GivenAnswer): string {
  const words = note === undefined ? answer : `${answer}\n${note}`;
  const about = `“${beginningOf(prompt)}”${ENDS[why]}`;
  const text = `My ${why === "task" ? "text for" : "answer to"} ${about}: ${words}`;
  return [text, words].find((one) => [...one].length <= MESSAGE) ?? answer;
}
