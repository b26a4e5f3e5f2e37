/** How a procedure becomes a tool of `/mcp`; src/mcp/tools.ts reads it once, at start. */

type Arguments = Readonly<Record<string, unknown>>;

/** The call of a tool that should follow another one. */
export interface NextCall {
  /** What an agent reads before it, as in `No answer yet. To wait on`. */
  readonly why: string;
  readonly name: string;
  readonly arguments: Arguments;
}

export interface ToolMeta {
  /** Lower case with underscores, 64 characters at most; what the activity log shows. */
  readonly name: string;
  readonly title: string;
  /** When an agent should use it, in a few sentences: a model reads them at every turn. */
  readonly description: string;
  /** What a model reads of a field, where its name and type do not say it; other fields have no text. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Hints for the client, all four of them. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** Input fields that only an account may send: no arguments of the tool. */
  readonly account_only?: readonly string[];
  /** What a field is when the agent leaves it out. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** The call that should follow the one with these arguments and this result, when one should. */
  next?(result: object, given: Arguments): NextCall | null;
  /** What an agent should make of this result, in one sentence, where the result does not say it. */
  note?(result: object): string | null;
  /** True: a client that can repeat a call by itself goes on waiting with `next`. */
  readonly rounds?: boolean;
}

interface Nature {
  /** It changes nothing. */
  readonly reads?: boolean;
  /** It can undo or overwrite what was there. */
  readonly destroys?: boolean;
  /** The same call again changes nothing more. */
  readonly accepts_idempotency_key?: boolean;
  /** It reaches someone outside: the person, or another agent. */
  readonly person?: boolean;
}

/** The four annotations of a tool, each of them stated. */
export function hints({
  reads = false,
  destroys = false,
  accepts_idempotency_key = reads,
  person = false,
}: Nature): ToolMeta["annotations"] {
  return {
    readOnlyHint: reads,
    destructiveHint: destroys,
    idempotentHint: accepts_idempotency_key,
    openWorldHint: person,
  };
}
