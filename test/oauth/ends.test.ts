/** What ends access, at once and everywhere, and what does not (§18.7, §5.4.7). */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  connectClient,
  obtainCode,
  postForm,
  refresh,
  register,
  requestTokens,
} from "../support/oauth.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const beside = await startTestApp({ clock, database_url });
const { url } = app;
const person = await createPerson(url);

type Connected = Awaited<ReturnType<typeof connectClient>>;

const ENDS: Readonly<Record<string, (connected: Connected) => Promise<unknown>>> = {
  "the person revokes the grant": async ({ key }) => {
    const { body } = await person.send(`GET /v1/keys/${key.id}/grants`);
    const [{ id }] = body.grants;
    expect((await person.send(`DELETE /v1/keys/${key.id}/grants/${id}`)).status).toBe(204);
    expect((await person.send(`DELETE /v1/keys/${key.id}/grants/${id}`)).status).toBe(404);
  },
  "the client revokes its refresh token": ({ tokens, client_id }) =>
    postForm(`${url}/oauth/revoke`, { token: tokens.refresh_token, client_id }),
  "the client revokes its access token": ({ tokens }) =>
    postForm(`${url}/oauth/revoke`, {
      token: tokens.access_token,
      token_type_hint: "refresh_token",
    }),
  "its code is sent again": ({ fields }) => requestTokens(url, fields),
  "the key is deleted": ({ key }) => person.send(`DELETE /v1/keys/${key.id}`),
};

for (const [name, end] of Object.entries(ENDS)) {
  test(`access and its waits end when ${name} [§18.7.1] [§5.4.9] [§18.7.2]`, async () => {
    const connected = await connectClient(url, person);
    const { tokens, send } = connected;
    const { id } = await ask(send);
    const waits = [url, beside.url].map((at) =>
      client(at, tokens.access_token)(`GET /v1/questions/${id}?wait=50`),
    );
    await until(() => app.waits.count() === 1 && beside.waits.count() === 1);
    await end(connected);
    // The other process looks for events every 10 ms.
    await clock.advance(0.01);
    for (const { status } of await Promise.all(waits)) expect(status).toBe(401);
    for (const at of [url, beside.url]) {
      expect((await client(at, tokens.access_token)("GET /v1/tasks")).status).toBe(401);
      expect((await refresh(at, tokens.refresh_token)).body.error).toBe("invalid_grant");
    }
  });
}

test("ending a grant leaves the key, its secret and its other grants [§18.7.1]", async () => {
  const agent = await createAgent(url, person, "two programs");
  const one = await connectClient(url, person, { key_id: agent.key.id });
  const two = await connectClient(url, person, { key_id: agent.key.id });
  await postForm(`${url}/oauth/revoke`, { token: one.tokens.access_token });
  expect((await one.send("GET /v1/tasks")).status).toBe(401);
  for (const send of [two.send, agent.send]) expect((await send("GET /v1/tasks")).status).toBe(200);
  const { body } = await person.send(`GET /v1/keys/${agent.key.id}/grants`);
  expect(body.grants).toHaveLength(1);
});

test("a revocation by another client is refused, and revoking an unknown token is not an error [§18.7.2]", async () => {
  const { tokens, send } = await connectClient(url, person);
  const client_id = await register(url, { client_name: "Other" });
  const { status, body } = await postForm(`${url}/oauth/revoke`, {
    token: tokens.refresh_token,
    client_id,
  });
  expect([status, body.error]).toEqual([400, "invalid_grant"]);
  for (const token of ["x", `mco_${"A".repeat(43)}`, `mcr_${"A".repeat(65)}`]) {
    expect((await postForm(`${url}/oauth/revoke`, { token })).status).toBe(200);
  }
  expect((await send("GET /v1/tasks")).status).toBe(200);
});

test("a replaced secret ends at once with its waits, and grants stay [§5.4.7]", async () => {
  const agent = await createAgent(url, person, "replaced");
  const connected = await connectClient(url, person, { key_id: agent.key.id });
  const { id } = await ask(agent.send);
  const wait = client(beside.url, agent.secret)(`GET /v1/questions/${id}?wait=50`);
  await until(() => beside.waits.count() === 1);
  const stream = await openStream(url, person.token);
  const { status, body } = await person.send(`POST /v1/keys/${agent.key.id}/secret`, {});
  expect(status).toBe(200);
  expect(body.secret).toMatch(/^mck_[\w-]{43}$/);
  expect(body.key).toMatchObject({
    id: agent.key.id,
    label: "replaced",
    prefix: body.secret.slice(0, 8),
    last4: body.secret.slice(-4),
  });
  await clock.advance(0.01);
  expect((await wait).status).toBe(401);
  for (const at of [url, beside.url]) {
    expect((await client(at, agent.secret)("GET /v1/tasks")).status).toBe(401);
    expect((await client(at, body.secret)(`GET /v1/questions/${id}`)).status).toBe(200);
  }
  expect((await connected.send("GET /v1/tasks")).status).toBe(200);
  expect(await stream.names(1)).toEqual(["key.updated"]);
  expect(stream.events[1]!.data.key).toMatchObject({ prefix: body.key.prefix });
  stream.close();
});

test("open pages get an event when access begins and ends [§7.2 grants.updated]", async () => {
  const flow = await obtainCode(url, person);
  const stream = await openStream(url, person.token);
  const { body: tokens } = await requestTokens(url, flow.fields);
  await refresh(url, tokens.refresh_token);
  await postForm(`${url}/oauth/revoke`, { token: tokens.access_token });
  await person.send(`PATCH /v1/keys/${flow.key.id}`, { label: "renamed" });
  expect(await stream.names(3)).toEqual(["grants.updated", "grants.updated", "key.updated"]);
  expect(stream.events[1]!.data).toEqual({ key_id: flow.key.id });
  stream.close();
});

test("a key has at most 20 grants, and one more ends the least recently used one [§5.15.2(3)] [§5.4.8]", async () => {
  const agent = await createAgent(url, person, "many");
  const key_id = agent.key.id;
  const all = [];
  for (let i = 0; i < 20; i++) {
    const next = await connectClient(url, person, { key_id });
    all.push(next);
    // One that was never used would be replaced.
    await next.send("GET /v1/tasks");
    await clock.skip(1);
  }
  await refresh(url, all[0]!.tokens.refresh_token);
  await connectClient(url, person, { key_id });
  const { body } = await person.send(`GET /v1/keys/${key_id}/grants`);
  expect(body.grants).toHaveLength(20);
  const created = body.grants.map(({ created_at }: any) => created_at);
  expect(created).toEqual([...created].sort((a, b) => b - a));
  expect((await all[0]!.send("GET /v1/tasks")).status).toBe(200);
  expect((await all[1]!.send("GET /v1/tasks")).status).toBe(401);
});

test("a grant shows when it ends and when it was last used, to the minute [§2.13]", async () => {
  const { key, send } = await connectClient(url, person);
  const made = clock.now();
  const grant = async () => (await person.send(`GET /v1/keys/${key.id}/grants`)).body.grants[0];
  expect(await grant()).toEqual({
    id: expect.stringMatching(/^grt_[0-9a-f]{32}$/),
    client_name: "Test client",
    client_host: null,
    created_at: made,
    last_used_at: made,
    expires_at: made + 60 * 86_400,
  });
  await clock.skip(60);
  await send("GET /v1/tasks");
  await clock.skip(59);
  await send("GET /v1/tasks");
  expect((await grant()).last_used_at).toBe(made + 60);
});

test("another account can neither see nor end a grant [§1.4.3]", async () => {
  const { key, send } = await connectClient(url, person);
  const stranger = await createPerson(url);
  const own = await createAgent(url, stranger);
  const { body } = await person.send(`GET /v1/keys/${key.id}/grants`);
  const [{ id }] = body.grants;
  for (const key_id of [key.id, own.key.id]) {
    const { status } = await stranger.send(`DELETE /v1/keys/${key_id}/grants/${id}`);
    expect(status).toBe(404);
  }
  expect((await stranger.send(`GET /v1/keys/${key.id}/grants`)).status).toBe(404);
  expect((await stranger.send(`POST /v1/keys/${key.id}/secret`, {})).status).toBe(404);
  expect((await send("GET /v1/tasks")).status).toBe(200);
});

test("a 21st grant of a key ends the least recently used one [§5.15.2(3)]", async () => {
  const { key } = await createAgent(url, person, "many programs");
  const client_id = await register(url, { client_name: "Many" });
  const connect = () => connectClient(url, person, { key_id: key.id, client_id });
  const connected = [];
  for (let i = 0; i < LIMITS.grants_per_key; i++) {
    const next = await connect();
    connected.push(next);
    await next.send("GET /v1/tasks");
    await clock.skip(1);
  }
  const [oldest, second] = [connected[0]!, connected[1]!];
  // Its use counts, which is recorded at most once a minute.
  await clock.skip(LIMITS.last_used_every + 1);
  expect((await oldest.send("GET /v1/tasks")).status).toBe(200);
  const usedAt = async () => {
    const { body } = await person.send(`GET /v1/keys/${key.id}/grants`);
    return Math.max(...body.grants.map((grant: any) => grant.last_used_at));
  };
  await until(async () => (await usedAt()) === clock.now());
  // An approved grant whose tokens were never fetched displaces no other.
  for (let i = 0; i < 3; i++) await obtainCode(url, person, { key_id: key.id, client_id });
  const grantsOf = async () =>
    (await person.send(`GET /v1/keys/${key.id}/grants`)).body.grants.length;
  expect(await grantsOf()).toBe(LIMITS.grants_per_key);
  await connect();
  expect((await oldest.send("GET /v1/tasks")).status).toBe(200);
  expect((await second.send("GET /v1/tasks")).status).toBe(401);
  expect(await grantsOf()).toBe(LIMITS.grants_per_key);
});

test("a client that signs in again has one grant, and what another client or key has used or not stays [§18.7.3]", async () => {
  const first = await connectClient(url, person);
  const key_id = first.key.id;
  const grants = async (): Promise<any[]> =>
    (await person.send(`GET /v1/keys/${key_id}/grants`)).body.grants;
  for (let i = 0; i < 4; i++) await connectClient(url, person, { key_id });
  expect((await grants()).length).toBe(1);
  expect((await first.send("GET /v1/tasks")).status).toBe(401);
  const used = await connectClient(url, person, { key_id });
  expect((await used.send("GET /v1/tasks")).status).toBe(200);
  await until(async () =>
    (await grants()).some(({ last_used_at, created_at }) => last_used_at >= created_at),
  );
  await clock.advance(1);
  const other = await connectClient(url, person);
  await connectClient(url, person, { key_id });
  expect((await grants()).length).toBe(2);
  for (const { send } of [used, other]) expect((await send("GET /v1/tasks")).status).toBe(200);
});
