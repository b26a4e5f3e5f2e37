/** Records that an older version stored (§17.3). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { createTestStore } from "../support/store.ts";

test("a deleted task that an older version stored without a later field is read with null there [§17.3]", async () => {
  const { url } = await createTestStore();
  const app = await startTestApp({ database_url: url });
  const { person, agent } = await createPair(app.url);
  const task = await createTask(person.send, { title: "one", key_id: agent.key.id });
  await person.send(`DELETE /v1/tasks/${task.id}`);
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const forgetField = statement(sql`update items set last_task = json_remove(last_task, '$.host')`);
  await store.write([forgetField({})]);
  await store.close();
  const { status, body } = await agent.send("GET /v1/inbox");
  expect(status).toBe(200);
  expect(body.items.at(-1).task).toEqual({ ...task, host: null });
});
