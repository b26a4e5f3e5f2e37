/** Requests for permission of coding agents: asked, joined, withdrawn (docs/interface.md §12.6). */

import { createHash } from "node:crypto";
import {
  CALLS,
  endAction,
  endLeftAction,
  insertAction,
  joinAction,
  leaveAction,
  pendingActions,
} from "../../db/actions.ts";
import { countPending } from "../../db/questions.ts";
import { canonicalJson } from "../canonical-json.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { KeyCaller } from "../model/caller.ts";
import type { Question, QuestionAction } from "../model/question.ts";
import type { PermissionContent } from "../permission/content.ts";
import type { PermissionRequest } from "../permission/request.ts";
import { untilDecided } from "./commit.ts";
import type { ServiceDeps } from "./deps.ts";
import { createQuestionRows } from "./question-rows.ts";

export type Permissions = ReturnType<typeof createPermissions>;

type Call = PermissionRequest["call"];

interface AskOptions {
  readonly content: PermissionContent;
  /** The whole input of the tool. */
  readonly input: unknown;
  readonly call: Call;
  readonly turn: string | null;
  /** Seconds until the question expires. */
  readonly life: number;
  /** Seconds that the client can wait. */
  readonly wait: number;
  /** Aborts when the client goes or cancels. */
  readonly signal: AbortSignal;
}

/** Which of a session's pending requests an event ends. */
type IsStale = (row: { readonly turn: string | null; readonly digest: string }) => boolean;

export function createPermissions(deps: ServiceDeps) {
  const { store, waits, clock, ids, assertLive } = deps;
  const { create, finish, readNow, hold } = createQuestionRows(deps);

  const pendingOf = ({ key_id }: KeyCaller) => store.read(pendingActions({ key_id }));

  /** Cancels pending requests of the session, as if the agent withdrew them (docs/interface.md §5.7.5). */
  const endStale = async (caller: KeyCaller, session: string | null, isStale: IsStale) => {
    if (session === null) return;
    const rows = await pendingOf(caller);
    const stale = rows.filter((row) => row.question.action?.session === session && isStale(row));
    await Promise.all(
      stale.map((row) => finish(row, { ...row.question, status: "cancelled" }, endAction)),
    );
  };

  /** A call waits no more; its question ends unless another call waits for it. */
  const leave = async (caller: KeyCaller, id: string, call: Call): Promise<void> => {
    const { key_id } = caller;
    await store.write([leaveAction({ id, key_id, call: CALLS[call] })]);
    const row = await readNow(caller, id);
    if (row.question.status !== "pending") return;
    await finish(row, { ...row.question, status: "cancelled" }, endLeftAction);
  };

  /** Why nothing can be asked; returns when it can. */
  const assertMayAsk = async (caller: KeyCaller): Promise<undefined> => {
    await assertLive(caller);
    const created_at = clock.now();
    const [row] = await store.read(countPending({ key_id: caller.key_id, created_at }));
    if (row![0] >= LIMITS.pending_questions_per_key) fail("too_many_pending_questions");
  };

  /** Asks, or joins the question that the other call asked for the same use; gives its id. */
  const askOrJoin = (caller: KeyCaller, options: AskOptions) => {
    const { account_id, key_id } = caller;
    const { content, input, call, turn, life } = options;
    const { prompt, context, action } = content;
    const action_digest = digestOf(action, input);
    const own_call = CALLS[call];
    const other_call = CALLS[call === "hook" ? "tool" : "hook"];
    return untilDecided(async () => {
      const now = clock.now();
      const joining = {
        key_id,
        action_digest,
        other_call,
        of_session: action.session,
        of_folder: action.folder,
        of_host: action.host,
        since: now - LIMITS.approve_join,
        now,
      };
      const waiting = await pendingOf(caller);
      if (waiting.some(({ digest }) => digest === action_digest)) {
        const [joined] = await store.write([joinAction(joining)]);
        const [id] = joined!.rows[0] ?? [];
        if (id !== undefined) return id as string;
      }
      const question: Question = {
        id: ids.next("qst"),
        key_id,
        task_id: null,
        prompt,
        kind: "choice",
        options: [...content.options],
        status: "pending",
        answer: null,
        created_at: now,
        answered_at: null,
        expires_at: now + life,
        action,
        ...(context !== null && { context }),
      };
      const asked = await create(account_id, question, ({ revision }) => [
        insertAction({
          ...question,
          ...joining,
          action,
          account_id,
          revision,
          action_turn: turn,
          action_calls: own_call,
        }),
      ]);
      // What refused it may have passed, or there is one to join by now.
      return asked ? question.id : assertMayAsk(caller);
    });
  };

  return {
    /**
     * Asks, and waits until the question leaves `pending` or `wait` is over; gives it as it then is. A client
     * that goes, or can wait no longer, leaves no question behind that nobody waits for. Throws
     * `429 too_many_waits`, `409 too_many_pending_questions`, `503 store_unavailable`.
     */
    async ask(caller: KeyCaller, options: AskOptions): Promise<Question> {
      const { content, call, turn, wait, signal } = options;
      const { key_id } = caller;
      const slot = waits.reserve(key_id) ?? fail("too_many_waits");
      try {
        // Requests of one prompt or turn may stand side by side: agents use several tools at once.
        const isStale: IsStale = (row) => turn === null || row.turn !== turn;
        await endStale(caller, content.action.session, isStale);
        const id = await askOrJoin(caller, options);
        let left = false;
        try {
          const question = await hold(caller, { id, key_id }, wait, signal, slot);
          if (question.status !== "pending") return question;
          left = true;
          await leave(caller, id, call);
          // An answer may have come first.
          return (await readNow(caller, id)).question;
        } catch (error) {
          // Without a store it expires by itself.
          if (!left) await leave(caller, id, call).catch(() => {});
          throw error;
        }
      } finally {
        slot.release();
      }
    },

    /** The tool was used with the same input: the person permitted that at the client. */
    async used(caller: KeyCaller, { action }: PermissionContent, input: unknown): Promise<void> {
      const digest = digestOf(action, input);
      await endStale(caller, action.session, (row) => row.digest === digest);
    },

    /** The session waits for nothing any more. */
    async stopped(caller: KeyCaller, session: string): Promise<void> {
      await endStale(caller, session, () => true);
    },
  };
}

/** The same for one use of a tool: it is of the whole input, of which the person may not be shown all. */
const digestOf = ({ tool, form }: QuestionAction, input: unknown): string =>
  createHash("sha256")
    .update(canonicalJson([tool, form, input]))
    .digest("base64url");
