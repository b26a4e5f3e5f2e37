/** The texts of a record, whose size bounds a list page in bytes (§1.5.3). */

import { expect, test } from "bun:test";
import { z } from "zod";
import { questionUnits } from "../../src/model/question.ts";
import { taskUnits } from "../../src/model/task.ts";
import { textUnits } from "../../src/model/text.ts";

test("every text of a record counts, wherever it is, except the ids that Relay makes", () => {
  const schema = z.object({
    id: z.string(),
    size: z.number().nullable(),
    is_new: z.boolean(),
    kind: z.enum(["short", "long"]).nullable().exactOptional(),
    note: z.string().nullable(),
    tags: z.array(z.string()).exactOptional(),
    parts: z.array(z.object({ name: z.string(), more: z.record(z.string(), z.string()) })),
  });
  const unitsOf = textUnits(schema, ["id"]);
  const record = { id: "id_1", size: 3, is_new: true, kind: "long", note: null, parts: [] };
  expect(unitsOf(record)).toBe(0);
  const parts = [{ name: "ab", more: { a: "c", b: "def" } }];
  expect(unitsOf({ ...record, note: "\u{1f600}", tags: ["x", "yz"], parts })).toBe(2 + 3 + 6);
});

test("every text of tasks and questions that a client may send counts", () => {
  const task = { title: "12345", description: "123", status_note: "12", host: "1" };
  expect(taskUnits({ ...task, id: "i", key_id: "k", status: "todo" })).toBe(11);
  const question = { prompt: "12345", options: ["1", "2"], answer: "12", request_id: "123" };
  expect(questionUnits({ ...question, id: "i", key_id: "k", task_id: "t", kind: "choice" })).toBe(
    12,
  );
});
