/** Results that skip zod are exactly what zod would return. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { z } from "zod";
import { Question } from "../../src/model/question.ts";
import { Task } from "../../src/model/task.ts";
import { Timestamp } from "../../src/model/text.ts";
import { fastValidate } from "../../src/rpc/fast-validate.ts";
import { SEED } from "../support/random.ts";

const TASK: z.infer<typeof Task> = {
  id: "tsk_1",
  key_id: "key_1",
  title: "Release",
  description: "",
  status: "todo",
  priority: "medium",
  notify: true,
  progress: null,
  status_note: null,
  source: "agent",
  created_at: 1_800_000_000.123,
  updated_at: 1_800_000_000.123,
  completed_at: null,
  seen_at: null,
  host: null,
  expect_update_within: null,
  silent_since: null,
};
const QUESTION: z.infer<typeof Question> = {
  id: "qst_1",
  key_id: "key_1",
  task_id: null,
  prompt: "Now?",
  kind: "confirm",
  options: ["Yes", "No"],
  status: "pending",
  answer: null,
  created_at: 1_800_000_000,
  answered_at: null,
  expires_at: 1_800_003_600,
};

const SAMPLES: [z.ZodType, object][] = [
  [Task, TASK],
  [Question, QUESTION],
  [Question, { ...QUESTION, allow_other: true, fallback: "No", context: "# Plan", note: "n" }],
  [z.object({ tasks: z.array(Task) }), { tasks: [TASK, TASK] }],
  [
    z.object({ at: Timestamp.nullable(), inner: z.object({ n: z.int() }) }),
    { at: 1, inner: { n: 0 } },
  ],
];

test("a result of the documented shape skips parsing [§2.4]", () => {
  for (const [schema, value] of SAMPLES) expect(fastValidate(schema)(value)).toBe(true);
});

test("a result that skips parsing equals the parsed one, including the order of its members", () => {
  const odd = fc.oneof(
    fc.constantFrom(undefined, null, NaN, Infinity, 1.5, 2 ** 53, "", "todo", true, "x", -0),
    fc.array(fc.constantFrom("a", 1, null)),
    fc.object({ maxDepth: 1 }),
  );
  for (const [schema, value] of SAMPLES) {
    const names = Object.keys(value);
    fc.assert(
      fc.property(fc.constantFrom(...names, "extra"), odd, fc.nat(20), (name, put, turn) => {
        const changed = Object.entries({ ...value, [name]: put });
        const turned = turn < changed.length ? changed.concat(changed.splice(0, turn)) : changed;
        const candidate = Object.fromEntries(turned);
        if (!fastValidate(schema)(candidate)) return;
        const parsed = schema.safeParse(candidate);
        expect(parsed.success).toBe(true);
        expect(JSON.stringify(parsed.data)).toBe(JSON.stringify(candidate));
      }),
      { numRuns: 2_000, seed: SEED },
    );
  }
});

test("a schema with refinements, transformations or unknown parts is always parsed", () => {
  const refined = z.string().refine((text) => text !== "x");
  for (const schema of [refined, z.email(), z.string().default("x"), z.string().trim(), z.any()]) {
    expect(fastValidate(z.object({ a: schema }))({ a: "y" })).toBe(false);
  }
  expect(fastValidate(z.object({ a: z.int().min(5) }))({ a: 7 })).toBe(false);
  expect(fastValidate(z.object({ a: z.string() }).refine(() => false))({ a: "" })).toBe(false);
});
