/** What a `401` says about an account token: that this store ended it, or nothing (§4.1.7). */

import { expect, test } from "bun:test";
import { pruneEndedTokens } from "../../db/credentials.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { digest } from "../../src/ids.ts";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { createPerson, newToken, pair } from "../support/client.ts";
import { createTestStore } from "../support/store.ts";
import { exchange } from "../support/wire.ts";

const { url: database_url } = await createTestStore();
const here = await startTestApp({ database_url });
const there = await startTestApp({ database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const rowsOf = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));

/** What each surface says about a refused token: `ended`, and the code. */
async function saidOf(url: string, credential: string) {
  const rest = await exchange(url, "GET", "/v1/account", { credential });
  const stream = await exchange(url, "GET", "/v1/events", { credential });
  const trpc = await exchange(url, "GET", "/trpc/accounts.get?input=%7B%7D", { credential });
  const { data } = trpc.body.error;
  const said = [
    [rest.status, rest.body.code, rest.body.ended],
    [stream.status, stream.body.code, stream.body.ended],
    [trpc.status, data.code_name, data.ended],
  ];
  expect(rest.headers.get("www-authenticate")).toBe("Bearer");
  return [...new Set(said.map(String))];
}

const ENDED = ["401,unauthorized,true"];
const UNKNOWN = ["401,unauthorized,"];

test("every process tells a token that ended from one that the store does not know [§4.1.7]", async () => {
  const person = await createPerson(here.url);
  const other = await pair(here.url, person);
  const gone = await createPerson(here.url);
  const next = newToken();

  expect(await saidOf(there.url, newToken())).toEqual(UNKNOWN);
  const { id } = other.session;
  await person.send(`DELETE /v1/sessions/${id}`);
  await person.send("POST /v1/account/token", { token: next });
  await gone.send("DELETE /v1/account");
  for (const { url } of [here, there]) {
    for (const token of [other.token, person.token, gone.token]) {
      expect(await saidOf(url, token)).toEqual(ENDED);
    }
  }
  // The store also remembers that the account's other tokens ended; no record names the account.
  await exchange(here.url, "DELETE", "/v1/account", { credential: next });
  for (const token of [other.token, person.token, next]) {
    expect(await saidOf(there.url, token)).toEqual(ENDED);
  }
  const { id: account_id } = person.account;
  expect(await rowsOf(`select 1 from ended_tokens where owner = '${account_id}'`)).toEqual([]);

  // An empty store has ended nothing.
  const empty = await startTestApp({});
  expect(await saidOf(empty.url, next)).toEqual(UNKNOWN);
});

test("a token that is in use again is valid, and another kind of credential is never called ended [§4.1.7]", async () => {
  const person = await createPerson(here.url);
  const next = newToken();
  await person.send("POST /v1/account/token", { token: next });
  await exchange(here.url, "POST", "/v1/account/token", {
    credential: next,
    body: JSON.stringify({ token: person.token }),
  });
  expect((await person.send("GET /v1/account")).status).toBe(200);
  expect(await saidOf(here.url, next)).toEqual(ENDED);

  const { body: key } = await person.send("POST /v1/keys", { label: "gone" });
  await person.send(`DELETE /v1/keys/${key.key.id}`);
  expect(await saidOf(here.url, key.secret)).toEqual(UNKNOWN);
  for (const credential of ["", "mca_", `mca_${"é".repeat(9)}`, "mca_x"]) {
    const { status, body } = await exchange(here.url, "GET", "/v1/account", {
      headers: { authorization: encodeURI(`Bearer ${credential}`) },
    });
    expect([status, body.ended]).toEqual([401, undefined]);
  }
});

test("ended tokens are remembered for a year, at most the newest 100 of each account [§4.1.7]", async () => {
  const person = await createPerson(here.url);
  const { id } = person.account;
  const add = (name: string, at: number) =>
    store.write([
      statement(
        sql.raw(
          `insert into ended_tokens (digest, owner, ended_at) values ('${name}', '${id}', ${at * 1000})`,
        ),
      )({}),
    ]);
  const now = Math.floor(Date.now() / 1000);
  const start = now - LIMITS.ended_token_retention;
  for (let i = 0; i < 100; i++) await add(`${id} ${i}`, start + 50 + i);
  await person.send("POST /v1/account/token", { token: newToken() });
  const left = (await rowsOf(`select digest from ended_tokens where owner = '${id}'`)).flat();
  expect(left).toHaveLength(100);
  expect(left).toContain(digest(person.token));
  // The oldest were deleted.
  expect(left).not.toContain(`${id} 0`);

  expect(await pruneEndedTokens(store, start + 60, 5)).toBe(5);
  expect(await pruneEndedTokens(store, start + 60, 50)).toBe(5);
  expect(await pruneEndedTokens(store, start + 60, 50)).toBe(0);
  expect(await saidOf(there.url, person.token)).toEqual(ENDED);
});
