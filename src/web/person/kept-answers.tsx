/** Answers that wait to be sent, and answers that came too late. */

import { CloudUpload } from "lucide-react";
import type { KeptAnswer } from "../state/outbox.ts";
import { Button } from "../ui/button.tsx";
import { useKeptAnswers, useSession } from "./use-store.ts";

interface WaitingAnswerProps {
  readonly answer: string;
  /** Called when the person takes it back. */
  readonly onChange: () => void;
}

/** In the place of the ways to answer. */
export function WaitingAnswer({ answer, onChange }: WaitingAnswerProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl bg-accent-soft py-2 pr-2 pl-4">
      <CloudUpload aria-hidden className="size-5 shrink-0 text-accent" />
      <div className="min-w-24 flex-1">
        <p className="font-medium text-accent text-sm">Waiting to be sent</p>
        <p dir="auto" className="said whitespace-pre-wrap">
          {answer}
        </p>
      </div>
      <Button data-answer data-careful variant="quiet" onClick={onChange}>
        Change answer
      </Button>
    </div>
  );
}

const REASONS: Readonly<Record<NonNullable<KeptAnswer["refused"]>, string>> = {
  answered: "the question had been answered elsewhere",
  expired: "the question had expired",
  cancelled: "the question had been cancelled",
  gone: "the question no longer exists",
  invalid: "the server didn't accept it",
};

/** Answers that could not be given, until the person has seen each. */
export function RefusedAnswers() {
  const { outbox } = useSession();
  const refused = useKeptAnswers().filter((one) => one.refused !== null);
  return (
    <div role="status">
      {refused.map(({ question_id, prompt, answer, refused: why }) => (
        <div
          key={question_id}
          className="mb-4 flex flex-wrap items-center gap-x-3 rounded-xl bg-warn-soft py-1 pr-1 pl-4 text-warn"
        >
          <p className="said min-w-40 flex-1 py-2 text-sm">
            <span className="font-medium">{`Your answer wasn't sent: ${REASONS[why!]}.`}</span>
            <span className="line-clamp-2">
              “<bdi dir="auto">{answer}</bdi>” to “<bdi dir="auto">{prompt}</bdi>”
            </span>
          </p>
          <Button
            variant="quiet"
            aria-label="OK, dismiss this answer"
            onClick={() => outbox.drop(question_id)}
          >
            OK
          </Button>
        </div>
      ))}
    </div>
  );
}
