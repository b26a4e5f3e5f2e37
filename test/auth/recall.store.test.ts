/** On a libSQL server, a row is read together with the credential of its request. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, client, createPair, createTask } from "../support/client.ts";
import { startPipelineProxy } from "../support/pipeline-proxy.ts";
import { createTestStore, STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const server = test.if(STORE_KIND === "server");

async function setUp() {
  const { url } = await createTestStore();
  const proxy = startPipelineProxy(url);
  const app = await startTestApp({ database_url: proxy.url });
  const peer = await startTestApp({ database_url: url });
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const question = await ask(agent.send);
  return { proxy, app, peer, person, agent, task, question };
}

server("a row and its credential take one round trip once the credential is known", async () => {
  const { proxy, agent, person, task, question } = await setUp();
  for (const path of [`/v1/tasks/${task.id}`, `/v1/questions/${question.id}`] as const) {
    for (const { send } of [agent, person]) {
      // The process may read by itself in between: then this is checked again.
      await until(async () => {
        proxy.requests.length = 0;
        expect((await send(`GET ${path}`)).status).toBe(200);
        return proxy.requests.length === 1 && proxy.requests[0]!.steps === 2;
      });
    }
  }
});

server("a credential that ended is 401, whatever was read together with it", async () => {
  const { app, peer, person, agent, task } = await setUp();
  const path = `/v1/tasks/${task.id}` as const;
  expect((await agent.send(`GET ${path}`)).status).toBe(200);
  expect((await person.send(`GET ${path}`)).status).toBe(200);
  // The task stays, so that it could be read.
  const token = `mca_${"n".repeat(43)}`;
  const replace = client(peer.url, person.token);
  expect((await replace("POST /v1/account/token", { token })).status).toBe(200);
  expectProblem(await exchange(app.url, "GET", path, { credential: person.token }), "unauthorized");
  expect((await client(app.url, token)(`GET ${path}`)).status).toBe(200);
  expect((await client(peer.url, token)(`DELETE /v1/keys/${agent.key.id}`)).status).toBe(204);
  for (const at of [path, "/v1/tasks/none"]) {
    const answer = await exchange(app.url, "GET", at, { credential: agent.secret });
    expectProblem(answer, "unauthorized");
  }
});
