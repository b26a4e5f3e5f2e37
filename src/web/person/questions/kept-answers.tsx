/** Answers that wait to be sent. */

import { CloudUpload } from "lucide-react";
import { Suspense } from "react";
import type { GivenAnswer, KeptAnswer } from "../../state/kept-answers.ts";
import { Boundary } from "../../ui/boundary.tsx";
import { Button } from "../../ui/button.tsx";
import { OneLine } from "../../ui/prose.tsx";
import { useKeptAnswers } from "../use-store.ts";
import { RefusedAnswer } from "../views.ts";

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
      “<bdi dir="auto">{answer}</bdi>”
      {prompt !== "" && (
        <>
          {" to “"}
          <bdi dir="auto">
            <OneLine text={prompt} />
          </bdi>
          ”
        </>
      )}
      {note !== undefined && (
        <>
          , with the note “<bdi dir="auto">{note}</bdi>”
        </>
      )}
    </>
  );
}

/** Texts that were not sent, each until the person dismisses it. */
export function RefusedAnswers() {
  const refused = useKeptAnswers().filter((one) => one.refused !== null);
  return (
    <div role="status">
      {refused.length > 0 && (
        <Boundary>
          <Suspense>
            {refused.map((one) => (
              <RefusedAnswer key={one.question_id} given={one} />
            ))}
          </Suspense>
        </Boundary>
      )}
    </div>
  );
}
