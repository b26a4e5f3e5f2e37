/** Challenges, and creating an account that requires an attestation (§4.2). */

import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { APP_ID, attestationOf, createAuthority } from "../support/attest.ts";
import { client, newToken } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { rejectionOf } from "../support/rejection.ts";
import { createTestStore } from "../support/store.ts";
import { tempFolder } from "../support/temp.ts";
import { faultsOf } from "../support/wire.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const authority = await createAuthority(clock.now());
const file = join(tempFolder(), "root.pem");
await Bun.write(file, authority.root);
const env = { ATTEST: "required", ATTEST_APP_ID: APP_ID, ATTEST_ROOT_CA_FILE: file };
const app = await startTestApp({ clock, database_url, env });
/** Another process on the same store, as far as a request can tell. */
const peer = await startTestApp({ clock, database_url, env });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());

const count = async (table: string) => {
  const query = sql.raw(`select count(*) from ${table}`);
  return (await store.read(statement(query, { returns: "row" })({})))[0]![0] as number;
};

const challenge = async (url = app.url): Promise<string> =>
  (await client(url)("POST /v1/attest/challenge")).body.challenge;

const create = (attestation: unknown, url = app.url) =>
  client(url)("POST /v1/accounts", { attestation });

/** Creates an account with this body; returns the status and code. */
const outcome = async (attestation: unknown, url = app.url) => {
  const { status, body } = await create(attestation, url);
  return `${status} ${body.code ?? "created"}`;
};
const INVALID = "403 attestation_invalid";
const CREATED = "201 created";

test("each challenge is new and is valid for five minutes [§4.2.2]", async () => {
  const send = client(app.url);
  const { status, body } = await send("POST /v1/attest/challenge", {});
  expect([status, body]).toEqual([
    200,
    { challenge: expect.stringMatching(/^[\w-]{43}$/), expires_at: clock.now() + 300 },
  ]);
  expect(await challenge()).not.toBe(body.challenge);
});

test("creating an account requires an attestation, and each attestation is good for one account [§4.2.2] [§4.2.1]", async () => {
  const before = await count("accounts");
  const without = await client(app.url)("POST /v1/accounts", {});
  const text = JSON.stringify(without.body);
  expect(faultsOf({ ...without, text }, "attestation_required")).toEqual([]);
  expect((await client(app.url)("POST /v1/accounts")).body.code).toBe("attestation_required");

  const attestation = attestationOf(await authority.attest(await challenge()));
  const made = await create(attestation);
  expect([made.status, made.body.token]).toEqual([201, expect.stringMatching(/^mca_/)]);
  expect((await client(app.url, made.body.token)("GET /v1/account")).status).toBe(200);
  const again = await create(attestation);
  expect(faultsOf({ ...again, text: JSON.stringify(again.body) }, "attestation_invalid")).toEqual(
    [],
  );
  expect(await count("accounts")).toBe(before + 1);

  // A repetition creates nothing, so its attestation is not checked (§5.2.1(4)).
  const token = newToken();
  const once = attestationOf(await authority.attest(await challenge()));
  const sent = () => client(app.url)("POST /v1/accounts", { attestation: once, token });
  const { status, body } = await sent();
  expect([status, (await sent()).body]).toEqual([201, body]);
});

test("a challenge that is expired, invented or used by a failed attempt is refused [§4.2.1]", async () => {
  const before = await count("accounts");
  // Between two runs of the job that deletes expired challenges.
  await clock.advance(1);
  const timely = await authority.attest(await challenge());
  const late = await authority.attest(await challenge());
  const wrong = await authority.attest(await challenge(), { counter: 1 });
  expect(await outcome(attestationOf(await authority.attest("c".repeat(43))))).toBe(INVALID);
  expect(await outcome(attestationOf(wrong))).toBe(INVALID);
  expect(await outcome(attestationOf(await authority.attest(wrong.challenge)))).toBe(INVALID);
  await clock.advance(299.9);
  expect(await outcome(attestationOf(timely))).toBe(CREATED);
  await clock.advance(0.1);
  expect(await outcome(attestationOf(late))).toBe(INVALID);
  expect(await count("accounts")).toBe(before + 1);
});

test("of many requests with one challenge, over two processes, one creates an account [§4.2.1]", async () => {
  for (let round = 0; round < 5; round++) {
    const before = await count("accounts");
    const value = await challenge(round % 2 ? peer.url : app.url);
    // Each request has a key of its own; only the challenge is shared.
    const attempts = await Promise.all(Array.from({ length: 8 }, () => authority.attest(value)));
    const outcomes = await Promise.all(
      attempts.map((attempt, i) => outcome(attestationOf(attempt), i % 2 ? peer.url : app.url)),
    );
    expect(outcomes.sort()).toEqual([CREATED, ...Array(7).fill(INVALID)]);
    expect(await count("accounts")).toBe(before + 1);
  }
});

test("anything that is not an attestation is 403, at every length and in any shape [§4.2.1]", async () => {
  const before = await count("accounts");
  const good = await authority.attest(await challenge());
  const whole = attestationOf(good);
  const strange = [
    "",
    " ",
    "x",
    "😀",
    "\u0000",
    "null",
    whole.slice(1),
    `${whole}${"A".repeat(33_000)}`,
    attestationOf({ ...good, object: "A".repeat(40_000) }),
    ...[null, [], 5, "text", {}].map((value) => attestationOf(value as object)),
    attestationOf({ ...good, challenge: 5 }),
    attestationOf({ ...good, challenge: `${good.challenge}\u0000` }),
    attestationOf({ ...good, challenge: "\ud800".repeat(43) }),
    attestationOf({ ...good, challenge: "' or 1=1 --" }),
    attestationOf({ challenge: good.challenge, key_id: good.key_id }),
    attestationOf({ ...good, object: { length: 5 } }),
  ];
  for (const attestation of strange) expect(await outcome(attestation)).toBe(INVALID);
  for (let length = 0; length < whole.length; length += 37) {
    expect(await outcome(whole.slice(0, length))).toBe(INVALID);
  }
  for (const object of ["", "AAAA", Buffer.alloc(15_000, 0x81).toString("base64")]) {
    const attempt = { ...good, challenge: await challenge(), object };
    expect(await outcome(attestationOf(attempt))).toBe(INVALID);
  }
  expect(await count("accounts")).toBe(before);
  // None of these was a server error, and nothing of them was logged.
  const text = app.lines.join("");
  expect(text).toContain('"event":"attestation refused"');
  expect(text).not.toContain('"level":"error"');
  expect(text).not.toContain(good.challenge);
  expect(text).not.toContain(good.key_id);
  // The truncated object named no challenge, so the whole attestation is still good.
  expect(await outcome(whole)).toBe(CREATED);
});

test("while attestation is not required, it is ignored when sent, and challenges are still given", async () => {
  const off = await startTestApp({ clock, database_url });
  expect(await challenge(off.url)).toMatch(/^[\w-]{43}$/);
  for (const attestation of ["", "anything", "\u0000"]) {
    expect(await outcome(attestation, off.url)).toBe(CREATED);
  }
});

test("expired challenges are deleted from the store", async () => {
  await challenge();
  await app.jobs.settled();
  await clock.skip(200);
  const kept = await challenge();
  await Promise.all([app, peer].map(({ jobs }) => jobs.settled()));
  await clock.skip(120);
  await Promise.all([app, peer].map(({ jobs }) => jobs.settled()));
  expect(await count("challenges")).toBe(1);
  expect(await outcome(attestationOf(await authority.attest(kept)))).toBe(CREATED);
});

test("invalid attestation settings stop the start and are named", async () => {
  const start = (more: Record<string, string | undefined>) =>
    startTestApp({ env: { ...env, ...more } as Record<string, string> });
  const { message } = await rejectionOf(start({ ATTEST_APP_ID: "" }));
  expect(message).toMatch(/^ATTEST_APP_ID: is needed/);
  for (const [bad, fault] of [
    [`${file}.none`, "there is no file "],
    [import.meta.path, "is not a file with a certificate: "],
    ["/", "/ is a folder"],
  ] as const) {
    const { message } = await rejectionOf(start({ ATTEST_ROOT_CA_FILE: bad }));
    expect(message).toStartWith(`ATTEST_ROOT_CA_FILE: ${fault}`);
    expect(message).toContain(bad);
  }
});
