/** The draft of a question that has ended: what the agent had written, beside what became of it. */

import { useState } from "react";
import type { Question } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { Cut } from "../../ui/cut.tsx";
import { AgentWords } from "./question-context.tsx";

/** Lines of a draft that are shown until the person opens it. */
const LINES = 16;

/** Shown with a question that has ended. One that was approved has the draft as its answer. */
export function EndedDraft({ question }: { question: Question }) {
  const { key_id, draft, edited } = question;
  const [shown, setShown] = useState(false);
  if (draft === undefined || edited === false) return null;
  if (edited === undefined) return <Draft key_id={key_id} text={draft} />;
  return (
    <div className="mt-2">
      <Button
        variant="quiet"
        className="-ml-4"
        aria-expanded={shown}
        onClick={() => setShown(!shown)}
      >
        {shown ? "Hide the draft" : "Show the draft"}
      </Button>
      {shown && <Draft key_id={key_id} text={draft} />}
    </div>
  );
}

function Draft({ key_id, text }: { readonly key_id: string; readonly text: string }) {
  const [open, setOpen] = useState(false);
  return (
    <AgentWords key_id={key_id} what="Draft from ">
      <div className="px-3.5 py-2.5">
        <Cut lines={LINES} open={open} onOpen={setOpen} notice="The end isn't shown.">
          <p dir="auto" className="said whitespace-pre-wrap">
            {text}
          </p>
        </Cut>
      </div>
    </AgentWords>
  );
}
