/** The call pipeline by itself: its steps in order, the same for a plain call and one of tRPC. */

import { expect, test } from "bun:test";
import { initTRPC, TRPCError } from "@trpc/server";
import { z } from "zod";
import type { Context } from "../../routers/context.ts";
import { key, open, router } from "../../routers/trpc.ts";
import { fail, ServiceError } from "../../src/errors.ts";
import type { Caller } from "../../src/model/caller.ts";
import { execute } from "../../src/rpc/execute.ts";
import { proceduresOf } from "../../src/rpc/trpc-internals.ts";
import { rejectionOf } from "../support/rejection.ts";

const KEY: Caller = { kind: "key", account_id: "acc_1", key_id: "key_1", credential: "c" };
const ACCOUNT: Caller = {
  kind: "account",
  account_id: "acc_1",
  session_id: "ses_1",
  credential: "c",
};

const steps: string[] = [];
const note = (step: string) => void steps.push(step);

const routes = router({
  read: key
    .meta({
      openapi: { method: "GET", path: "/v1/read" },
      limit: "challenges",
      pages: true,
      query: ["wait"],
      only_waited: ({ wait = 0 }, result) => wait > 0 && result === null,
      rules: (caller, raw) =>
        caller && (raw as { n?: unknown }).n === 13 ? { n: "is unlucky" } : {},
    })
    .input(z.strictObject({ n: z.int().max(20), wait: z.int().optional() }))
    .output(z.object({ twice: z.int() }))
    .query(({ ctx, input }) => {
      note("work");
      if (input.n === 9) fail("not_found");
      return { twice: input.n === 7 ? 0.5 : input.n * 2, key: ctx.caller.key_id };
    }),
  whoami: open
    .meta({ openapi: { method: "POST", path: "/v1/whoami" } })
    .input(z.strictObject({}))
    .output(z.object({ caller: z.null() }))
    .mutation(({ ctx }) => ({ caller: ctx.caller })),
  slow: open
    .meta({ openapi: { method: "POST", path: "/v1/slow" }, may_be_slow: true })
    .input(z.strictObject({}))
    .output(z.object({ caller: z.null() }))
    .mutation(({ ctx }) => ({ caller: ctx.caller })),
});

const procedures = proceduresOf<Context>(routes);

function contextOf(caller: Caller | null, more: Partial<Context> = {}): Context {
  const scope = {
    charges: {
      limit: async (name: string) => note(`limit ${name}`),
      charge: () => note("charge"),
    },
    turns: {
      page: async () => {
        note("turn");
        return () => note("turn over");
      },
      within: <T>(work: Promise<T>) => {
        note("within");
        return work;
      },
    },
    waits: () => note("waits"),
    answered: () => {},
    ended: ({ action, error }: { action: string; error: ServiceError | null }) =>
      note(`log ${action} ${error?.code ?? "ok"}`),
    address: () => "127.0.0.1",
  };
  const ctx = { caller, scope, effects: true, head: false, rejected: null, batch: null };
  return { ...ctx, host: null, page_bytes: 1, recorded: undefined, ...more } as Context;
}

/** Makes the call as each surface does; returns its outcome and the steps taken. */
async function callBoth(name: "read" | "whoami" | "slow", ctx: Context, input: unknown) {
  const ended = async (call: () => Promise<unknown>) => {
    steps.length = 0;
    const outcome = await call().catch((error: unknown) => {
      const cause = error instanceof TRPCError ? error.cause : error;
      return cause instanceof ServiceError ? { code: cause.code, fields: cause.fields } : error;
    });
    return { outcome, steps: [...steps] };
  };
  const plain = await ended(() => execute(procedures.get(name)!)(ctx, input));
  const caller = routes.createCaller(ctx);
  const typed = await ended(() => caller[name](input as never));
  expect(typed).toEqual(plain);
  return plain;
}

test("each surface runs limit, page turn, charge, kind, fields, work, answer, log in this order [§9.1.3]", async () => {
  const asKey = contextOf(KEY);
  const before = ["limit challenges", "turn", "charge"];
  const log = "log GET /v1/read";
  const all: [Context, unknown, unknown, string[]][] = [
    [asKey, { n: 2 }, { twice: 4 }, [...before, "work", "within", "turn over", `${log} ok`]],
    [
      asKey,
      { n: 9 },
      { code: "not_found", fields: undefined },
      [...before, "work", "turn over", `${log} not_found`],
    ],
    [contextOf(null), 5, { code: "unauthorized", fields: undefined }, ["limit challenges", "turn"]],
    [contextOf(ACCOUNT), 5, { code: "forbidden", fields: undefined }, before],
    [
      contextOf(KEY, { rejected: { n: "is given twice" } }),
      5,
      { code: "invalid_fields", fields: { n: "is given twice" } },
      before,
    ],
  ];
  for (const [ctx, input, outcome, taken] of all) {
    const called = await callBoth("read", ctx, input);
    expect(called.outcome).toEqual(outcome);
    expect(called.steps.slice(0, taken.length)).toEqual(taken);
  }
});

test("broken rules are named beside schema errors, and alone when the schema has no error", async () => {
  const ctx = contextOf(KEY);
  const both = await callBoth("read", ctx, { n: 13, extra: 1 });
  expect(both.outcome).toEqual({
    code: "invalid_fields",
    fields: { extra: "is not a field of this request", n: "is unlucky" },
  });
  const alone = await callBoth("read", ctx, { n: 13 });
  expect(alone.outcome).toEqual({ code: "invalid_fields", fields: { n: "is unlucky" } });
  expect(alone.steps).not.toContain("work");
});

test("an answer that does not fit its schema is internal on each surface, never the caller's fault", async () => {
  const { outcome, steps: taken } = await callBoth("read", contextOf(KEY), { n: 7 });
  expect(outcome).toMatchObject({ code: "internal" });
  expect(taken.at(-1)).toBe("log GET /v1/read internal");
});

test("a call that waits has no deadline and no page turn, and is marked as waiting [§15.1.2]", async () => {
  const { steps: taken } = await callBoth("read", contextOf(KEY), { n: 2, wait: 5 });
  expect(taken).not.toContain("within");
  expect(taken).not.toContain("turn");
  expect(taken).toContain("waits");
});

test("a public procedure gets no caller, whatever credential was sent", async () => {
  const { outcome, steps: taken } = await callBoth("whoami", contextOf(KEY), {});
  expect([outcome, taken]).toEqual([{ caller: null }, ["within"]]);
});

test("a call marked as slow has no deadline", async () => {
  const { outcome, steps: taken } = await callBoth("slow", contextOf(null), {});
  expect([outcome, taken]).toEqual([{ caller: null }, []]);
});

test("a procedure cannot be called outside the pipeline", async () => {
  const t = initTRPC.context<Context>().create();
  const { read } = t.router({ read: bare() }).createCaller(contextOf(null));
  expect((await rejectionOf(read({}))).message).toMatch(/through the pipeline only/);

  function bare() {
    return key
      .input(z.strictObject({}))
      .output(z.null())
      .query(() => null);
  }
});

test("a procedure of another form stops the start", () => {
  const no_output = key.input(z.strictObject({})).query(() => null);
  expect(() => router({ no_output })).toThrow(/a base, one input, an output/);
  const two_inputs = key.input(z.object({})).input(z.object({})).output(z.null());
  expect(() => router({ two: two_inputs.query(() => null) })).toThrow(/one input/);
});
