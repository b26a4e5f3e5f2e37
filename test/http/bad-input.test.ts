/** Bodies that are not a JSON object of the route are refused on every route, and store nothing. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { connect, head } from "../support/raw.ts";
import { BODY_ROUTES, nameOf, ROUTES, type Route } from "../support/routes.ts";
import { until } from "../support/until.ts";
import { expectProblem, MARK } from "../support/wire.ts";
import { bodyOf, createCollector, createWorld, kindsOf, withField } from "../support/world.ts";

const app = await startTestApp();
const world = await createWorld(app);

let before: unknown;
beforeEach(async () => {
  before = await world.stored();
});
afterEach(async () => {
  expect(await world.stored()).toEqual(before);
  expect(app.lines.filter((line) => JSON.parse(line).level === "error")).toEqual([]);
});

const MIB = 1024 * 1024;
/** On these routes a missing body is the same as `{}` (§1.3.2). */
const OPTIONAL_BODY = [
  "POST /v1/sessions/{session_id}/confirm",
  "POST /v1/accounts",
  "POST /v1/account/recovery-code",
  "POST /v1/attest/challenge",
  "POST /v1/channels/{channel_id}/test",
  "POST /v1/channels/links/{link_id}/confirm",
];

/** Calls `send` for every route with a body and every kind of credential that it accepts. */
async function forEachBody(
  send: (call: {
    route: Route;
    kind: ReturnType<typeof kindsOf>[number];
    label: string;
  }) => unknown,
) {
  for (const route of BODY_ROUTES) {
    for (const kind of kindsOf(route))
      await send({ route, kind, label: `${nameOf(route)} ${kind}` });
  }
}

/** A byte that never occurs, a truncated one, an overlong form, a surrogate, and one past the last. */
const NOT_UTF8 = [[0xff], [0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]];

test("a body that is not JSON is 400 [§9.1.3] [§1.3.1]", async () => {
  const { faults, add } = createCollector();
  await forEachBody(async ({ route, kind, label }) => {
    const good = bodyOf(world, route, kind)!;
    const bodies = [
      ...["{", '{"', " ", "\n", MARK, "undefined", "NaN", "'x'", "{a:1}", "[1", '"x', "{}{}"],
      ...[
        '{"title":"a",}',
        '{"title":1e}',
        '{"title":"\0"}',
        '{"title":"a\nb"}',
        "{} //",
        "\u00a0{}",
      ],
      ...['{"title":"\\x"}', '{"title":"\\u12"}', "title=a", "<title>a</title>", "--x--"],
      good.slice(0, -1),
      `${good}x`,
      good.slice(0, Math.ceil(good.length / 2)),
    ];
    for (const body of bodies) {
      add(
        `${label} ${JSON.stringify(body)}`,
        await world.send(route, kind, { body }),
        "invalid_json",
      );
    }
    for (const bytes of NOT_UTF8) {
      const body = Buffer.concat([
        Buffer.from('{"title":"'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ]);
      add(`${label} ${bytes}`, await world.send(route, kind, { body }), "invalid_json");
    }
  });
  expect(faults).toEqual([]);
});

test("a missing body is 400 unless the route allows it [§9.1.3] [§1.3.2]", async () => {
  const { faults, add } = createCollector();
  await forEachBody(async ({ route, kind, label }) => {
    const answers = [
      await world.send(route, kind),
      await world.send(route, kind, { body: "" }),
      // An empty body needs no type, so a wrong one does not matter either.
      await world.send(route, kind, { body: "", type: "text/plain" }),
    ];
    for (const answer of answers) {
      // There is no link to confirm.
      if (nameOf(route).includes("{link_id}")) add(label, answer, "not_found", ["link_id"]);
      else if (OPTIONAL_BODY.includes(nameOf(route))) expect(answer.status).toBeLessThan(300);
      else add(label, answer, "invalid_json");
    }
  });
  expect(faults).toEqual([]);
});

test("a JSON body that is not an object is 422 and names `body` as the field [§9.2.1 422]", async () => {
  const { faults, add } = createCollector();
  const deep = 50_000;
  const kinds = ["null", "[1]", "[]", '"x"', "5", "true", "[{}]", `"${MARK}"`, `[["${MARK}"]]`];
  await forEachBody(async ({ route, kind, label }) => {
    for (const body of [...kinds, "[".repeat(deep) + "]".repeat(deep)]) {
      const answer = await world.send(route, kind, { body });
      add(`${label} ${body.slice(0, 20)}`, answer, "invalid_fields", ["body"]);
    }
  });
  expect(faults).toEqual([]);
});

test("an unknown field is 422, and is named if its name looks like that of a field [§9.2.1 422] [§1.3.4]", async () => {
  const names: [name: string, field: string][] = [
    ["titel", "titel"],
    ["x", "x"],
    ["a_1", "a_1"],
    ["id", "id"],
    ["account_id", "account_id"],
    ["created_at", "created_at"],
    ["constructor", "constructor"],
    ["x".repeat(40), "x".repeat(40)],
    ["x".repeat(41), "unknown"],
    ["", "unknown"],
    ["Title", "unknown"],
    ["1a", "unknown"],
    ["_a", "unknown"],
    ["a b", "unknown"],
    ["a-b", "unknown"],
    ["é", "unknown"],
    ["x\n", "unknown"],
    ["\0", "unknown"],
    ["toString", "unknown"],
    ["hasOwnProperty", "unknown"],
    ["__proto__", "unknown"],
    [MARK, "unknown"],
  ];
  const { faults, add } = createCollector();
  await forEachBody(async ({ route, kind, label }) => {
    const good = bodyOf(world, route, kind)!;
    for (const [name, field] of names) {
      for (const value of ["1", "null", `{"title":"${MARK}"}`]) {
        const answer = await world.send(route, kind, { body: withField(good, name, value) });
        add(`${label} ${name}`, answer, "invalid_fields", [field]);
      }
    }
    const two = withField(withField(good, MARK, "1"), "extra", "1");
    add(label, await world.send(route, kind, { body: two }), "invalid_fields", [
      "unknown",
      "extra",
    ]);
  });
  expect(faults).toEqual([]);
});

test("members of __proto__ are not fields of the body [§9.2.1 422]", async () => {
  const task = `/v1/tasks/${world.task.id}`;
  const patch = ROUTES.find((route) => route.procedure === "tasks.update")!;
  const body = `{"__proto__":{"title":"${MARK}","notify":false},"status":"done"}`;
  expectProblem(await world.send(patch, "key", { body }, task), "invalid_fields", ["unknown"]);
});

test("a body field named like a path or query parameter is 422 [§9.2.1 422]", async () => {
  const { faults, add } = createCollector();
  let tried = 0;
  await forEachBody(async ({ route, kind, label }) => {
    for (const name of [...route.in_path, ...route.in_query]) {
      const value = JSON.stringify(world.ids[name] ?? 0);
      const body = withField(bodyOf(world, route, kind)!, name, value);
      add(`${label} ${name}`, await world.send(route, kind, { body }), "invalid_fields", [name]);
      tried++;
    }
  });
  expect(tried).toBeGreaterThan(3);
  expect(faults).toEqual([]);
});

test("a body of another media type is 415 [§9.1.3]", async () => {
  const types = [
    ...[null, "text/plain", "text/json", "application/jsonx", "application/jsonp", "json", "*/*"],
    ...["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", MARK],
    ...["application/problem+json", "application/json, text/plain", "application/octet-stream"],
  ];
  const { faults, add } = createCollector();
  await forEachBody(async ({ route, kind, label }) => {
    const body = bodyOf(world, route, kind)!;
    for (const type of types) {
      const answer = await world.send(route, kind, { body, type });
      add(`${label} ${type}`, answer, "unsupported_media_type");
    }
    for (const type of [
      "application/json; charset=utf-8",
      "Application/JSON",
      "application/json;x=y",
    ]) {
      const answer = await world.send(route, kind, { body: "[1]", type });
      add(`${label} ${type}`, answer, "invalid_fields", ["body"]);
    }
  });
  expect(faults).toEqual([]);
});

test("a compressed body is 415, and the response says so [§9.1.3]", async () => {
  const { faults, add } = createCollector();
  await forEachBody(async ({ route, kind, label }) => {
    const body = bodyOf(world, route, kind)!;
    const bytes = Bun.gzipSync(Buffer.from(body));
    for (const coding of ["gzip", "br", "GZIP, identity", null]) {
      const headers = coding === null ? {} : { "content-encoding": coding };
      const answer = await world.send(route, kind, { body: bytes, headers });
      add(`${label} ${coding}`, answer, "unsupported_media_type");
      expect(answer.body.detail).toContain("compressed");
    }
    // Some clients name a coding that the body does not have: this changes nothing.
    for (const coding of ["identity", "utf-8", "none", "gzip"]) {
      const headers = { "content-encoding": coding };
      const plain = await world.send(route, kind, { body: "[1]", headers });
      add(`${label} plain ${coding}`, plain, "invalid_fields", ["body"]);
    }
    const latin = {
      body: Buffer.from([0x22, 0xe9, 0x22]),
      headers: { "content-encoding": "utf-8" },
    };
    add(`${label} Latin-1`, await world.send(route, kind, latin), "invalid_json");
  });
  expect(faults).toEqual([]);
});

/** A stream whose length is unknown until it ends. */
function inChunks(bytes: Uint8Array): ReadableStream {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + 0x8000));
      at += 0x8000;
    },
  });
}

test("a body above 256 KiB is 413, with a declared length or in chunks [§9.1.3] [§11.2.1]", async () => {
  const { faults, add } = createCollector();
  const big = Buffer.alloc(10 * MIB, 0x20);
  await forEachBody(async ({ route, kind, label }) => {
    add(label, await world.send(route, kind, { body: big }), "body_too_large");
    add(
      `${label} chunked`,
      await world.send(route, kind, { body: inChunks(big) }),
      "body_too_large",
    );
  });
  expect(faults).toEqual([]);
});

test("a body of exactly 256 KiB is read, and one more byte is refused [§9.1.3]", async () => {
  const { faults, add } = createCollector();
  await forEachBody(async ({ route, kind, label }) => {
    const body = "[1]".padEnd(MIB / 4, " ");
    add(label, await world.send(route, kind, { body }), "invalid_fields", ["body"]);
    add(label, await world.send(route, kind, { body: `${body} ` }), "body_too_large");
    add(
      label,
      await world.send(route, kind, { body: inChunks(Buffer.from(body)) }),
      "invalid_fields",
      ["body"],
    );
    add(
      label,
      await world.send(route, kind, { body: inChunks(Buffer.from(`${body} `)) }),
      "body_too_large",
    );
  });
  expect(faults).toEqual([]);
});

test("a declared length above the limit is refused before the body arrives [§9.1.3]", async () => {
  for (const route of ROUTES) {
    // Also 100 MiB: no limit of the server beneath may answer instead of ours.
    for (const size of [10 * MIB, 100 * MIB]) {
      const { credentials, pathOf } = world;
      const connection = await connect(app.url);
      connection.write(
        head(route.method, pathOf(route), {
          authorization: `Bearer ${credentials[kindsOf(route)[0]!]}`,
          "content-type": "application/json",
          "content-length": String(size),
        }),
      );
      const answer = await connection.answer(route.method);
      connection.end();
      expectProblem(answer!, "body_too_large");
    }
  }
});

test("endless chunks are refused once they exceed the limit [§9.1.3]", async () => {
  const chunk = `10000\r\n${" ".repeat(0x10000)}\r\n`;
  for (const route of BODY_ROUTES) {
    const { credentials, pathOf } = world;
    const connection = await connect(app.url);
    connection.write(
      head(route.method, pathOf(route), {
        authorization: `Bearer ${credentials[kindsOf(route)[0]!]}`,
        "content-type": "application/json",
        "transfer-encoding": "chunked",
      }),
    );
    for (let i = 0; i < 5; i++) connection.write(chunk);
    const answer = await connection.answer();
    connection.end();
    expectProblem(answer!, "body_too_large");
  }
});

test("after a refused body, the rest of it is not taken for a request [§9.1.3]", async () => {
  const authorization = `Bearer ${world.agent.secret}`;
  const inner = head("DELETE", `/v1/tasks/${world.task.id}`, { authorization });
  const connection = await connect(app.url);
  for (const [method, path, type, body, code] of [
    ["POST", "/v1/tasks", "application/json", inner.repeat(2_000), "body_too_large"],
    ["POST", "/v1/tasks", "text/plain", inner, "unsupported_media_type"],
    ["POST", "/v1/tasks", "application/json", inner, "invalid_json"],
    ["POST", "/v1/nothing", "application/json", inner, "unknown_path"],
    ["PUT", "/v1/tasks", "application/json", inner, "method_not_allowed"],
    // A route without a body does not read the one that arrives.
    ["DELETE", "/v1/tasks/tsk_0", "application/json", inner, "not_found"],
  ] as const) {
    connection.write(head(method, path, { authorization, "content-type": type }, body) + body);
    expectProblem((await connection.answer())!, code);
  }
  connection.write(head("GET", "/v1/account", { authorization }));
  expectProblem((await connection.answer())!, "forbidden");
  connection.end();
});

test("a client that disconnects in the middle of its body leaves nothing behind [§9.1.3]", async () => {
  const connection = await connect(app.url);
  const headers = {
    authorization: `Bearer ${world.agent.secret}`,
    "content-type": "application/json",
    "content-length": "100",
  };
  connection.write(`${head("POST", "/v1/tasks", headers)}{"title":"half"}`);
  const count = app.lines.length;
  connection.end();
  // The server has reached the end of the body: 400, for a reader that has gone.
  const done = await until(() => app.lines.slice(count).find((line) => line.includes('"request"')));
  expect(JSON.parse(done)).toMatchObject({ route: "POST /v1/tasks", status: 400 });
});
