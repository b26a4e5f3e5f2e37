/**
 * The parts of a question that lists and events leave out, so that it must be read by itself
 * (§2.5.2).
 */

import { useEffect, useState } from "react";
import type { Question } from "../../state/api.ts";
import { useSession } from "../use-store.ts";

export interface Details {
  /** Null until loaded, and if loading failed; empty if the question has no context. */
  readonly context: string | null;
  /** The command, diff or arguments of a permission prompt. */
  readonly text: string | null;
  /** The question as it was read by itself; null until then, and where nothing asked for that. */
  readonly alone: Question | null;
  readonly failed: boolean;
  readonly retry: () => void;
}

const isWhole = ({ context_omitted = false, action }: Question): boolean =>
  !context_omitted && (action === undefined || action.text !== undefined);

/**
 * Loads the details of a question once `wanted` is true. `alone`: reads the question by itself even if it has all its
 * texts, for what only that read says.
 */
export function useDetails(question: Question, wanted: boolean, { alone = false } = {}): Details {
  const { id } = question;
  const { api } = useSession();
  // Kept, since a later event has the question without its details.
  const [found, setFound] = useState<Question | null>(isWhole(question) ? question : null);
  const [failed, setFailed] = useState(false);
  const whole = found ?? (isWhole(question) ? question : null);
  const [read_alone, setReadAlone] = useState<Question | null>(null);
  const missing = wanted && !failed && (whole === null || (alone && read_alone === null));
  useEffect(() => {
    if (!missing) return;
    let ended = false;
    api.questions.get.query({ question_id: id }).then(
      (read) => {
        if (ended) return;
        setReadAlone(read);
        if (isWhole(read)) setFound(read);
        else setFailed(true);
      },
      () => ended || setFailed(true),
    );
    return () => {
      ended = true;
    };
  }, [api, id, missing]);
  return {
    context: whole && (whole.context ?? ""),
    text: whole?.action?.text ?? null,
    alone: read_alone,
    failed,
    retry: () => setFailed(false),
  };
}
