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
import { openQuestions } from "../../db/questions.ts";
import { canonicalJson } from "../canonical-json.ts";
import { ClientGone, fail, failFull } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { KeyCaller } from "../model/caller.ts";
import type { McpSession } from "../model/mcp-session.ts";
import { DENY, type Question, type QuestionAction } from "../model/question.ts";
import type { PermissionContent } from "../permission/content.ts";
import type { PermissionCall, PermissionRequest } from "../permission/request.ts";
import { untilDecided } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { createQuestionRows } from "./shared/question-rows.ts";

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

  /**
   * The requests of this process that wait in line to be asked, oldest first. Each belongs to an open connection and a
   * place among the waits of its key, which bounds the line.
   */
  const line = new Map<ActionRow, AbortController>();

  /** The requests of the key that are pending or wait in line. */
  const pendingOf = async ({ key_id }: KeyCaller): Promise<ActionRow[]> => [
    ...(await store.read(pendingActions({ key_id }))),
    ...[...line.keys()].filter(({ question }) => question.key_id === key_id),
  ];

  /** Cancels a request, as if the agent withdrew it (§5.7.5). */
  const end = async (row: ActionRow): Promise<boolean> => {
    const place = line.get(row);
    if (!place) return finish(row, { ...row.question, status: "cancelled" }, endAction);
    place.abort();
    return true;
  };

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

  const questionOf = ({ key_id }: KeyCaller, { content, life }: AskOptions) => {
    const { prompt, context, action } = content;
    const now = clock.now();
    return {
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
    } satisfies Question;
  };

  const joiningOf = ({ key_id }: KeyCaller, { content, input, call, session }: AskOptions) => {
    const { action } = content;
    const now = clock.now();
    return {
      key_id,
      action_digest: digestOf(action, input),
      other_call: otherOf(call),
      of_session: action.session,
      of_agent: action.agent ?? null,
      of_folder: action.folder,
      of_host: action.host,
      of_tag: tagOf(session),
      since: now - LIMITS.approve_join,
      now,
    };
  };

  /** Records a request that could not be asked, so that the person sees it among what expired: it expires at once. */
  const tellUnasked = async (caller: KeyCaller, options: AskOptions): Promise<void> => {
    const { account_id } = caller;
    storage.assertRoom(account_id);
    const { turn: asked_in, call } = options;
    const question = { ...questionOf(caller, { ...options, life: 0 }), status: "expired" as const };
    const recorded = { ...question, ...joiningOf(caller, options), account_id, asked_in };
    await create(account_id, question, ({ revision }) => [
      insertAction({ ...recorded, revision, action_calls: CALLS[call] }),
    ]);
  };

  const openOf = ({ key_id }: KeyCaller) => store.read(openQuestions({ key_id, now: clock.now() }));
  const isFull = (open: readonly unknown[]) => open.length >= LIMITS.pending_questions_per_key;

  /** Waits until the key may ask one more question; false if it may not within `seconds`. */
  const waitForRoom = async (caller: KeyCaller, seconds: number, signal: AbortSignal) => {
    const { key_id, account_id } = caller;
    const open = await openOf(caller);
    return waits.wait({
      owner: key_id,
      subjects: [...open.map(([id]) => id), key_id, account_id],
      seconds,
      signal,
      // The call has its place among the waits already.
      slot: { release() {} },
      async read() {
        const [rows] = await Promise.all([openOf(caller), assertLive(caller)]);
        const has_room = !isFull(rows);
        const first_end = Math.min(...rows.map(([, expires_ms]) => expires_ms / 1000));
        // Of a question that came meanwhile, only its time is known.
        return {
          value: has_room,
          done: has_room,
          again_in: Math.max(0.1, first_end - clock.now()),
        };
      },
    });
  };

  /** Asks once the key has room, within the life of the request (§12.6.4). Null if it was withdrawn meanwhile. */
  const askInLine = async (caller: KeyCaller, options: AskOptions): Promise<string | null> => {
    const { life, signal, call, turn, content, input, session } = options;
    const row: ActionRow = {
      question: questionOf(caller, options),
      account_id: caller.account_id,
      hidden: null,
      turn,
      digest: digestOf(content.action, input),
      calls: CALLS[call],
      left: tagOf(session),
    };
    const begun = clock.elapsed();
    const place = new AbortController();
    const either = AbortSignal.any([signal, place.signal]);
    line.set(row, place);
    try {
      for (;;) {
        const left = life - (clock.elapsed() - begun);
        if (left < 1 || !(await waitForRoom(caller, left, either))) break;
        const id = await askOrJoin(caller, {
          ...options,
          life: life - (clock.elapsed() - begun),
        });
        if (id !== null) return id;
      }
    } catch (error) {
      if (error instanceof ClientGone && place.signal.aborted && !signal.aborted) return null;
      throw error;
    } finally {
      line.delete(row);
    }
    await tellUnasked(caller, options);
    return failFull();
  };

  /** Asks, or joins the question that the other call asked for the same use. Returns its id; null if the key is full. */
  const askOrJoin = (caller: KeyCaller, options: AskOptions): Promise<string | null> => {
    const { account_id } = caller;
    const { content, input, call, turn } = options;
    const { action } = content;
    const action_digest = digestOf(action, input);
    return untilDecided(async () => {
      const joining = joiningOf(caller, options);
      const waiting = await pendingOf(caller);
      if (waiting.some(({ digest }) => digest === action_digest)) {
        const [joined] = await store.write([joinAction(joining)]);
        const [id] = joined!.rows[0] ?? [];
        if (id !== undefined) return id as string;
      }
      storage.assertRoom(account_id);
      const question = questionOf(caller, options);
      const asked = await create(account_id, question, ({ revision }) => [
        insertAction({
          ...question,
          ...joining,
          action,
          account_id,
          revision,
          asked_in: turn,
          action_calls: CALLS[call],
        }),
      ]);
      if (asked) return question.id;
      await assertLive(caller);
      // If nothing prevents it by now, or there is a question to join, it is tried again.
      return isFull(await openOf(caller)) ? null : undefined;
    });
  };

  return {
    /**
     * Asks, waits until the question leaves `pending` or `wait` is over, and returns it as it then is. While the key has
     * its full number of pending questions, the request waits in line. When the client goes or can wait no longer, the
     * question ends unless another call waits for it. Throws `409 too_many_pending_questions` if the request could not be
     * asked within its life, `429 too_many_waits`, `503 store_unavailable`.
     */
    async ask(caller: KeyCaller, options: AskOptions): Promise<Question> {
      const { call, wait, signal } = options;
      const { key_id } = caller;
      const slot = waits.reserve(key_id);
      if (slot === null) {
        await tellUnasked(caller, options);
        return fail("too_many_waits");
      }
      try {
        await endEarlier(caller, options);
        const begun = clock.elapsed();
        const id = (await askOrJoin(caller, options)) ?? (await askInLine(caller, options));
        if (id === null) return { ...questionOf(caller, options), status: "cancelled" };
        let left = false;
        try {
          const seconds = Math.max(0, wait - (clock.elapsed() - begun));
          const question = await hold(caller, { id, key_id }, { seconds, signal, slot });
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
