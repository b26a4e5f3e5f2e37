/** Permission requests of coding agents: asked, joined, withdrawn (§12.6). */

import { createHash } from "node:crypto";
import {
  type ActionRow,
  CALLS,
  endAction,
  endLeftAction,
  insertAction,
  joinAction,
  leaveAction,
  pendingActions,
  reportUse,
  TAG_UNIT,
} from "../../db/permissions.ts";
import { countPending } from "../../db/questions.ts";
import { canonicalJson } from "../canonical-json.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { KeyCaller } from "../model/caller.ts";
import type { McpSession } from "../model/mcp-session.ts";
import { DENY, type Question, type QuestionAction } from "../model/question.ts";
import type { PermissionContent } from "../permission/content.ts";
import type { PermissionCall, PermissionRequest } from "../permission/request.ts";
import { untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { createQuestionRows } from "./shared/question-rows.ts";

export type Permissions = ReturnType<typeof createPermissions>;

type Call = PermissionRequest["call"];

interface AskOptions {
  readonly content: PermissionContent;
  /** The complete input of the tool. */
  readonly input: unknown;
  readonly call: Call;
  readonly turn: string | null;
  /** The MCP session of the call, if any. Calls of different sessions never join. */
  readonly session: McpSession | null;
  /** Seconds until the question expires. */
  readonly life: number;
  /** Seconds for which the client can wait. */
  readonly wait: number;
  /** Aborts when the client disconnects or cancels. */
  readonly signal: AbortSignal;
}

type Stopped = Extract<PermissionCall, { is: "stopped" }>;

export function createPermissions(deps: ServiceDeps) {
  const { store, storage, waits, clock, ids, assertLive } = deps;
  const { create, finish, readNow, hold } = createQuestionRows(deps);

  const pendingOf = ({ key_id }: KeyCaller) => store.read(pendingActions({ key_id }));

  /** Cancels a pending request, as if the agent withdrew it (§5.7.5). */
  const end = (row: ActionRow) => finish(row, { ...row.question, status: "cancelled" }, endAction);

  /**
   * Ends the pending requests of a session's main agent that belong to an earlier prompt. The request of a subagent
   * names the prompt of its session, which can change meanwhile, so it ends nothing. A permission tool that names no
   * prompt ends nothing either: its client waits for each call.
   */
  const endEarlier = async (caller: KeyCaller, options: AskOptions) => {
    const { content, input, call, turn } = options;
    const { action } = content;
    const { session } = action;
    if (session === null || action.agent !== undefined) return;
    // The terminal of Codex cannot answer while a hook waits, so no request is out of date. And its hooks over
    // MCP cannot name the subagent, whose turn is another one.
    if (action.client === "codex") return;
    if (call === "tool" && turn === null) return;
    const digest = digestOf(action, input);
    const since = clock.now() - LIMITS.approve_join;
    const other_call = otherOf(call);
    const tag = tagOf(options.session);
    const isEarlier = (row: ActionRow) =>
      isOfAgent(row, { session, agent: null }) &&
      (turn === null || row.turn !== turn) &&
      !(row.calls === CALLS.tool && row.turn === null);
    // The other call for the same use of the tool, which this one joins.
    const isTwin = ({ question, ...row }: ActionRow) =>
      row.digest === digest &&
      row.calls === other_call &&
      question.created_at > since &&
      agrees(question.action!.folder, action.folder) &&
      agrees(question.action!.host, action.host) &&
      (tag === 0 || row.left < TAG_UNIT || row.left - (row.left % TAG_UNIT) === tag);
    const rows = await pendingOf(caller);
    await Promise.all(rows.filter((row) => isEarlier(row) && !isTwin(row)).map(end));
  };

  /** Ends the wait of a call, and its question unless another call waits for it. */
  const leave = async (caller: KeyCaller, id: string, call: Call): Promise<void> => {
    const { key_id } = caller;
    await store.write([leaveAction({ id, key_id, call: CALLS[call] })]);
    const row = await readNow(caller, id);
    if (row.question.status !== "pending") return;
    await finish(row, { ...row.question, status: "cancelled" }, endLeftAction);
  };

  /** Throws the reason why the caller may not ask, if there is one. */
  const assertMayAsk = async (caller: KeyCaller): Promise<undefined> => {
    await assertLive(caller);
    const created_at = clock.now();
    const [row] = await store.read(countPending({ key_id: caller.key_id, created_at }));
    if (row![0] >= LIMITS.pending_questions_per_key) fail("too_many_pending_questions");
  };

  /** Asks, or joins the question that the other call asked for the same use. Returns its id. */
  const askOrJoin = (caller: KeyCaller, options: AskOptions) => {
    const { account_id, key_id } = caller;
    const { content, input, call, turn, life } = options;
    const { prompt, context, action } = content;
    const action_digest = digestOf(action, input);
    const own_call = CALLS[call];
    const other_call = otherOf(call);
    return untilDecided(async () => {
      const now = clock.now();
      const joining = {
        key_id,
        action_digest,
        other_call,
        of_session: action.session,
        of_agent: action.agent ?? null,
        of_folder: action.folder,
        of_host: action.host,
        of_tag: tagOf(options.session),
        since: now - LIMITS.approve_join,
        now,
      };
      const waiting = await pendingOf(caller);
      if (waiting.some(({ digest }) => digest === action_digest)) {
        const [joined] = await store.write([joinAction(joining)]);
        const [id] = joined!.rows[0] ?? [];
        if (id !== undefined) return id as string;
      }
      storage.assertRoom(account_id);
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
          asked_in: turn,
          action_calls: own_call,
        }),
      ]);
      // If nothing prevents it by now, or there is a question to join, it is tried again.
      return asked ? question.id : assertMayAsk(caller);
    });
  };

  return {
    /**
     * Asks, waits until the question leaves `pending` or `wait` is over, and returns it as it then is. When the
     * client goes or can wait no longer, the question ends unless another call waits for it. Throws
     * `409 too_many_pending_questions`, `429 too_many_waits`, `503 store_unavailable`.
     */
    async ask(caller: KeyCaller, options: AskOptions): Promise<Question> {
      const { call, wait, signal } = options;
      const { key_id } = caller;
      const slot = waits.reserve(key_id) ?? fail("too_many_waits");
      try {
        await endEarlier(caller, options);
        const id = await askOrJoin(caller, options);
        let left = false;
        try {
          const question = await hold(caller, { id, key_id }, { seconds: wait, signal, slot });
          if (question.status !== "pending") return question;
          left = true;
          await leave(caller, id, call);
          // An answer may have come first.
          return (await readNow(caller, id)).question;
        } catch (error) {
          // Without the store, the question expires by itself.
          if (!left) await leave(caller, id, call).catch(() => {});
          throw error;
        }
      } finally {
        slot.release();
      }
    },

    /**
     * Call it when an agent used the tool: ends its oldest equal request, which was permitted at the client, unless
     * the person permitted one here since that was asked. `form`: the form of a request for this use; null: requests
     * with any input are equal. Prompts are not compared, since a subagent's use may end in a later prompt.
     */
    async used(
      caller: KeyCaller,
      { tool, session, agent, input }: PermissionRequest,
      form: QuestionAction["form"] | null,
    ): Promise<void> {
      if (session === null) return;
      const digest = form === null ? null : digestOf({ tool, form }, input);
      const equal = (await pendingOf(caller)).filter(
        (row) =>
          isOfAgent(row, { session, agent }) &&
          row.question.action?.tool === tool &&
          (digest === null || row.digest === digest),
      );
      if (equal.length === 0) return;
      const since = equal[0]!.question.created_at;
      const [permitted] = await store.write([
        reportUse({
          key_id: caller.key_id,
          action_digest: digest,
          deny: DENY,
          since,
          begun: since - LIMITS.approve_wait_max,
          of_session: session,
          of_agent: agent,
          of_tool: tool,
        }),
      ]);
      if (permitted!.rows.length > 0) return;
      for (const row of equal) if (await end(row)) return;
    },

    /** Ends the requests of an agent of the session, or of the whole session, that has stopped. */
    async stopped(caller: KeyCaller, { session, agent, whole }: Stopped): Promise<void> {
      const rows = await pendingOf(caller);
      const isOver = (row: ActionRow) =>
        whole ? row.question.action?.session === session : isOfAgent(row, { session, agent });
      await Promise.all(rows.filter(isOver).map(end));
    },
  };
}

const otherOf = (call: Call) => CALLS[call === "hook" ? "tool" : "hook"];

/** Identifies an MCP session: a multiple of {@link TAG_UNIT}; 0 without a session. */
const tagOf = (session: McpSession | null): number =>
  session === null ? 0 : (hashOf(session.id).readUInt32BE() || 1) * TAG_UNIT;

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** True if the two are equal, or one is unknown. */
const agrees = (one: string | null, other: string | null): boolean =>
  one === null || other === null || one === other;

/** True for a request of this agent of the session. */
const isOfAgent = (
  { question: { action } }: ActionRow,
  { session, agent }: Pick<PermissionRequest, "session" | "agent">,
): boolean => action?.session === session && (action?.agent ?? null) === agent;

/** Identifies the use of a tool by its complete input, of which the person may see only a part. */
const digestOf = ({ tool, form }: Pick<QuestionAction, "tool" | "form">, input: unknown): string =>
  hashOf(canonicalJson([tool, form, input])).toString("base64url");
