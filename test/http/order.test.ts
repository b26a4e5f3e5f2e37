/** Of several faults in one request, the response names the one that is checked first. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { LISTS } from "../support/fields.ts";
import { BODY_ROUTES, nameOf, ROUTES, type Route } from "../support/routes.ts";
import { type Code, exchange, faultsOf } from "../support/wire.ts";
import { createWorld, type Kind, kindsOf } from "../support/world.ts";

const app = await startTestApp();
const world = await createWorld(app);

let before: unknown;
beforeEach(async () => {
  before = await world.stored();
});
afterEach(async () => {
  expect(await world.stored()).toEqual(before);
});

const TOO_LARGE = Buffer.alloc(256 * 1024 + 1, "{");

/** Query parameters that accept one value. */
const single = ({ in_query }: Route) => in_query.filter((name) => !LISTS.includes(name));

test("checks run in the order path, method, size, media type, JSON, credential, kind, fields [§9.1.3]", async () => {
  const faults: string[] = [];
  for (const route of BODY_ROUTES) {
    const path = world.pathOf(route);
    const [own] = kindsOf(route) as [Kind];
    const wrong: Kind | null =
      route.access === "account" ? "key" : route.access === "key" ? "account" : null;
    const twice = single(route)
      .map((name) => `${name}=0&${name}=0`)
      .join("&");
    const bad = `${path}${twice && `?${twice}`}`;
    const type = "text/plain";
    const calls: [Code, string, string, Parameters<typeof exchange>[3]][] = [
      ["unknown_path", "PUT", `${path}/`, { body: TOO_LARGE, type }],
      ["method_not_allowed", "OPTIONS", bad, { body: TOO_LARGE, type }],
      ["body_too_large", route.method, bad, { body: TOO_LARGE, type }],
      ["unsupported_media_type", route.method, bad, { body: "{", type }],
      ["invalid_json", route.method, bad, { body: "{" }],
      ["invalid_json", route.method, bad, { body: Buffer.of(0xff) }],
    ];
    if (route.access !== "none") {
      calls.push(
        ["unauthorized", route.method, bad, { body: "[1]" }],
        ["unauthorized", route.method, bad, { body: '{"extra":1}', credential: "mca_x" }],
      );
    }
    if (wrong) {
      const credential = world.credentials[wrong];
      calls.push(
        ["forbidden", route.method, bad, { body: "[1]", credential }],
        ["forbidden", route.method, bad, { body: '{"extra":1}', credential }],
      );
    }
    for (const [code, method, target, sent] of calls) {
      const answer = await exchange(app.url, method, target, sent);
      faults.push(...faultsOf(answer, code).map((fault) => `${nameOf(route)}: ${fault}`));
    }
    // Fields are checked before the resource, which does not exist here either.
    const credential = world.credentials[own];
    const nowhere = route.path.replace(/\{\w+\}/g, "x");
    const answer = await exchange(app.url, route.method, nowhere, { body: "[1]", credential });
    const wrong_body = faultsOf(answer, "invalid_fields", ["body"]);
    faults.push(...wrong_body.map((fault) => `${nameOf(route)} fields: ${fault}`));
  }
  expect(faults).toEqual([]);
});

test("without a body, checks run in the order path, method, size, credential, kind, fields, resource [§9.1.3]", async () => {
  const faults: string[] = [];
  const { credentials } = world;
  for (const route of ROUTES.filter(({ in_body }) => in_body === null)) {
    const path = route.path.replace(/\{\w+\}/g, "x");
    const bad_ids = route.path.replace(/\{\w+\}/g, "%00");
    const repeated = single(route);
    const twice = repeated.map((name) => `${name}=0&${name}=0`).join("&");
    const bad = `${bad_ids}${twice && `?${twice}`}`;
    const named = [...route.in_path, ...route.in_query];
    const own = credentials[kindsOf(route)[0]!];
    const wrong =
      route.access === "account"
        ? credentials.key
        : route.access === "key"
          ? credentials.account
          : null;
    const send = async (
      code: Code,
      target: string,
      sent: object,
      fields: readonly string[] = [],
    ) => {
      // fetch sends no body with a GET, so its size is not tried here.
      const answer = await exchange(app.url, route.method, target, sent);
      const some = faultsOf(answer, code, fields).map((fault) => `${nameOf(route)}: ${fault}`);
      faults.push(...some);
    };
    if (route.method !== "GET") await send("body_too_large", bad, { body: TOO_LARGE });
    await send("unauthorized", bad, {});
    if (wrong) await send("forbidden", bad, { credential: wrong });
    const expected = twice ? repeated : named;
    const faulty = twice ? `${path}?${twice}` : bad;
    if (expected.length > 0) await send("invalid_fields", faulty, { credential: own }, expected);
    if (route.in_path.length > 0) await send("not_found", path, { credential: own });
  }
  expect(faults).toEqual([]);
});

test("the resource is checked first, then its state, then whether the answer fits [§5.7.4(2)] [§1.4.3] [§9.2.1 409] [§9.2.1 422]", async () => {
  const { person, agent } = await createPair(app.url);
  const stranger = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "?", kind: "choice", options: ["a", "b"] });
  const path = `/v1/questions/${id}/answer`;
  const answer = (credential: string, value: unknown) =>
    exchange(app.url, "POST", path, { credential, body: JSON.stringify({ answer: value }) });
  const expectFault = async (got: ReturnType<typeof answer>, code: Code, fields?: string[]) =>
    expect(faultsOf(await got, code, fields)).toEqual([]);

  await expectFault(answer(stranger.person.token, 5), "invalid_fields", ["answer"]);
  await expectFault(answer(stranger.person.token, "no option"), "not_found");
  await expectFault(answer(person.token, "no option"), "invalid_fields", ["answer"]);
  expect((await answer(person.token, "a")).status).toBe(200);
  await expectFault(answer(person.token, "no option"), "question_not_pending");
  await expectFault(answer(person.token, ""), "question_not_pending");
  await expectFault(answer(person.token, null), "invalid_fields", ["answer"]);
  await expectFault(answer(stranger.person.token, "a"), "not_found");
});
