/** Replacing an account token with one that the client made itself (§5.2.4). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPerson, newToken } from "../support/client.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";

const app = await startTestApp();

test("a token that the client made works in every process, even if the response was lost [§4.1.5]", async () => {
  const database_url = (await createTestStore()).url;
  const [one, two] = await Promise.all([1, 2].map(() => startTestApp({ database_url })));
  const person = await createPerson(one!.url);
  const token = newToken();
  const old_stream = await openStream(two!.url, person.token);
  const given = await person.send("POST /v1/account/token", { token });
  expect([given.status, given.body]).toEqual([200, { token }]);
  await old_stream.ended;
  for (const { url } of [one!, two!]) {
    expect((await client(url, person.token)("GET /v1/account")).status).toBe(401);
    expect((await client(url, token)("GET /v1/account")).body).toEqual(person.account);
  }

  // Sent again with the old token, the request is refused; with the new one, it ends nothing.
  expect((await person.send("POST /v1/account/token", { token })).status).toBe(401);
  const stream = await openStream(two!.url, token);
  const again = await client(one!.url, token)("POST /v1/account/token", { token });
  expect([again.status, again.body]).toEqual([200, { token }]);
  await createAgent(two!.url, { ...person, token });
  expect(await stream.names(1)).toEqual(["key.created"]);
  stream.close();
  for (const line of [...one!.lines, ...two!.lines]) expect(line).not.toContain(token);
});

test("a token that belongs to another account, even a deleted one, is refused and ends nothing", async () => {
  const [mine, other, gone] = await Promise.all([1, 2, 3].map(() => createPerson(app.url)));
  await gone!.send("DELETE /v1/account");
  const stream = await openStream(app.url, mine!.token);
  for (const { token } of [other!, gone!]) {
    const { status, body } = await mine!.send("POST /v1/account/token", { token });
    expect([status, body.fields]).toEqual([422, { token: "must be new" }]);
    expect(JSON.stringify(body)).not.toContain(token);
  }
  expect((await other!.send("GET /v1/account")).body).toEqual(other!.account);
  await createAgent(app.url, mine!);
  expect(await stream.names(1)).toEqual(["key.created"]);
  stream.close();
});

test("when several accounts take one token at once, one gets it and the others keep theirs", async () => {
  const database_url = (await createTestStore()).url;
  const apps = await Promise.all([1, 2].map(() => startTestApp({ database_url })));
  const people = await Promise.all([...apps, ...apps].map(({ url }) => createPerson(url)));
  const token = newToken();
  const answers = await Promise.all(
    people.map(({ send }) => send("POST /v1/account/token", { token })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422]);
  for (const [i, { account, send }] of people.entries()) {
    const won = answers[i]!.status === 200;
    const now = won ? client(apps[0]!.url, token) : send;
    expect((await now("GET /v1/account")).body).toEqual(account);
  }
});

test("of two concurrent replacements of one token, one succeeds and the other is refused", async () => {
  const { account, send } = await createPerson(app.url);
  const tokens = [newToken(), newToken()];
  const answers = await Promise.all(
    tokens.map((token) => send("POST /v1/account/token", { token })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
  for (const [i, token] of tokens.entries()) {
    const { status, body } = await client(app.url, token)("GET /v1/account");
    const good = answers[i]!.status === 200;
    expect([status, body.id]).toEqual(good ? [200, account.id] : [401, undefined]);
  }
});
