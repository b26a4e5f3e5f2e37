/** Ids in the path, query parameters and cursors that no route accepts. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { LISTS, PARAMETERS } from "../support/fields.ts";
import { nameOf, ROUTES, type Route } from "../support/routes.ts";
import { startTelegram } from "../support/telegram.ts";
import { MARK } from "../support/wire.ts";
import { bodyOf, createCollector, createWorld, type Kind, kindsOf } from "../support/world.ts";

// With Web Push and a bot, so that the key of the one and a link of the other can be read.
const telegram = await startTelegram({ strict: false });
// Time stands still, so that no request among thousands takes too long for a busy disk.
const app = await startTestApp({
  clock: createTestClock(),
  env: {
    VAPID_SUBJECT: "mailto:relay@example.com",
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: telegram.newBot("relay_bot").token,
  },
});
const world = await createWorld(app);
const new_link = { type: "telegram", label: "Phone" };
world.ids.link_id = (await world.person.send("POST /v1/channels/links", new_link)).body.id;

for (let i = 0; i < 3; i++) await createTask(world.agent.send, { title: `task ${i}` });
// Marked as seen before the tests, whose reads would otherwise do it.
await world.agent.send("GET /v1/tasks");

let before: unknown;
beforeEach(async () => {
  before = await world.stored();
});
afterEach(async () => {
  expect(await world.stored()).toEqual(before);
});

/** Every route and kind of credential that fits `select`, with a valid body. */
async function forEachCall(
  select: (route: Route) => boolean,
  run: (call: {
    route: Route;
    kind: Kind;
    label: string;
    send: (path: string) => ReturnType<typeof world.send>;
  }) => unknown,
) {
  for (const route of ROUTES.filter(select)) {
    for (const kind of kindsOf(route)) {
      const body = bodyOf(world, route, kind);
      const send = (path: string) =>
        world.send(route, kind, body === undefined ? {} : { body }, path);
      await run({ route, kind, label: `${nameOf(route)} ${kind}`, send });
    }
  }
}

test("an id that names nothing of the caller's is 404, whatever its form [§1.4.3]", async () => {
  const { faults, add } = createCollector();
  const { task, question, agent, person } = world;
  await forEachCall(
    (route) => route.in_path.length > 0,
    async ({ route, label, send }) => {
      for (const name of route.in_path) {
        const own = world.ids[name]!;
        const prefix = own.slice(0, 4);
        const strange = [
          ...["x", "0", "null", "undefined", "%2F", "a%2Fb", "%2e%2e%2f", "%20", "%", "%zz", "%ff"],
          ...[
            "%ED%A0%80",
            "%F0%9F%98%80",
            "%E2%80%8B",
            "*",
            "'",
            "%22",
            "' or 1=1 --",
            "%25",
            "(",
            "&",
          ],
          ...["__proto__", "constructor", "a:b", ":x", "{x}", `${prefix}`, `${prefix}0`, MARK],
          ...[
            own.toUpperCase(),
            own.slice(0, -1),
            `${own}0`,
            `${own}%20`,
            `%20${own}`,
            `${own}%0A`,
          ],
          ...[`${own},${own}`, `${own}%2F`, `${own};a=b`, own.replace("_", "%5F%5F"), own.slice(4)],
          ...[
            person.account.id,
            agent.secret,
            encodeURIComponent("😀".repeat(500)),
            "x".repeat(8_000),
          ],
          // The ids of the caller's other resources.
          ...[task.id, question.id, agent.key.id].filter((id) => !id.startsWith(prefix)),
        ];
        for (const id of strange) {
          const answer = await send(world.pathOf(route, { [name]: id }));
          const what = `${label} ${id.slice(0, 40)}`;
          // Clients choose the ids of devices; an id of another form cannot be registered.
          if (route.procedure === "devices.put") add(what, answer, "invalid_fields", [name]);
          else add(what, answer, "not_found", [name]);
        }
        for (const id of ["%00", `${own}%00`, `${MARK}%00`]) {
          const answer = await send(world.pathOf(route, { [name]: id }));
          add(`${label} ${id}`, answer, "invalid_fields", [name]);
        }
      }
    },
  );
  expect(faults).toEqual([]);
});

test("a query parameter outside its range or form is 422, never clamped [§9.2.1 422]", async () => {
  const { faults, add } = createCollector();
  await forEachCall(
    (route) => route.in_query.length > 0,
    async ({ route, label, send }) => {
      for (const name of route.in_query) {
        const row = PARAMETERS[`${route.procedure} ${name}`];
        if (!row) throw new Error(`no row in PARAMETERS for ${route.procedure} ${name}`);
        for (const text of row.bad) {
          const query = `?${name}=${encodeURIComponent(text)}`;
          const answer = await send(world.pathOf(route) + query);
          add(`${label} ${JSON.stringify(text.slice(0, 40))}`, answer, "invalid_fields", [name]);
        }
        // Neither an empty parameter nor one without an equals sign means the default.
        if (row.bad.includes("")) {
          add(label, await send(`${world.pathOf(route)}?${name}`), "invalid_fields", [name]);
        }
      }
    },
  );
  expect(faults).toEqual([]);
});

test("a parameter of one value is 422 when sent twice, even with equal values [§9.2.1 422]", async () => {
  const { faults, add } = createCollector();
  await forEachCall(
    (route) => route.in_query.length > 0,
    async ({ route, label, send }) => {
      for (const name of route.in_query.filter((one) => !LISTS.includes(one))) {
        const [value = "x"] = PARAMETERS[`${route.procedure} ${name}`]!.good;
        const path = world.pathOf(route);
        const one = `${name}=${value}`;
        for (const query of [`?${one}&${one}`, `?${one}&${name}=${MARK}`, `?a=b&${one}&c&${one}`]) {
          add(`${label} ${query}`, await send(path + query), "invalid_fields", [name]);
        }
      }
    },
  );
  expect(faults).toEqual([]);
});

test("a list parameter accepts values separated by commas, repeated, or both [§1.5.1]", async () => {
  const faults: string[] = [];
  const { faults: refused, add } = createCollector();
  let lists = 0;
  await forEachCall(
    (route) => route.in_query.some((name) => LISTS.includes(name)),
    async ({ route, label, send }) => {
      const path = world.pathOf(route);
      for (const name of route.in_query.filter((one) => LISTS.includes(one))) {
        lists++;
        const values = PARAMETERS[`${route.procedure} ${name}`]!.good[1]!.split(",");
        const [first = "", second = "", ...rest] = values;
        const expected = (await send(`${path}?${name}=${values}`)).text;
        const of = (...texts: string[]) => texts.map((text) => `${name}=${text}`).join("&");
        const forms = [
          of(...values),
          of(...values.toReversed()),
          of(`${first},${second}`, ...rest),
          of(first, [second, ...rest].join("%2C")),
          of(first, ...values, first),
          `${of(first)}&x=1&${of(second, ...rest)}`,
        ];
        for (const form of forms) {
          const answer = await send(`${path}?${form}`);
          if (answer.status !== 200 || answer.text !== expected) faults.push(`${label} ${form}`);
        }
        if ((await send(`${path}?${of(first)}`)).status !== 200) faults.push(`${label} ${first}`);
        for (const bad of [
          of(first, ""),
          of("", first),
          of(first, MARK),
          of(first, `${second},`),
        ]) {
          add(`${label} ${bad}`, await send(`${path}?${bad}`), "invalid_fields", [name]);
        }
      }
    },
  );
  // Tasks by status and priority, questions by status, each for a key and an account.
  expect([lists, faults, refused]).toEqual([6, [], []]);
});

test("the ends of each range are accepted, and unknown parameters are ignored [§5.5.2 limit] [§17.1]", async () => {
  const unknown = [
    ...["?x=1", "?", "?&&", "?=", "?%00=%00", "?%", "?__proto__=1&constructor=2&toString=3"],
    ...["?Limit=0&STATUS=x&Wait=51", "?limit[]=0&status[]=x", "?x=1&x=1", `?${MARK}=${MARK}`],
    ...["?task=1&key=2", `?${"a=1&".repeat(1_000)}`],
  ];
  const faults: string[] = [];
  await forEachCall(
    // The reads whose result stays the same.
    (route) => route.method === "GET",
    async ({ route, kind, label, send }) => {
      const path = world.ownOf(route, kind);
      // Reading an inbox changes what the next read returns.
      if (route.procedure === "inbox.read") while ((await send(path)).body.items.length > 0);
      let plain = await send(path);
      for (const query of unknown) {
        const answer = await send(path + query);
        // A webhook may have failed meanwhile, which changes its responses.
        if (answer.text !== plain.text) plain = await send(path);
        if (answer.status !== 200 || answer.text !== plain.text) faults.push(`${label} ${query}`);
      }
      for (const name of route.in_query) {
        for (const text of PARAMETERS[`${route.procedure} ${name}`]!.good) {
          const { status } = await send(`${path}?${name}=${text}`);
          if (status !== 200) faults.push(`${label} ${name}=${text}: ${status}`);
        }
      }
    },
  );
  expect(faults).toEqual([]);
});

test("a cursor of another list or filter is 422 [§1.5.2]", async () => {
  const { person, agent, other } = world;
  const cursorOf = async (send: typeof agent.send, query: string): Promise<string> => {
    const { body } = await send(`GET /v1/tasks?limit=1${query}`);
    expect(body.next_cursor).toBeString();
    return body.next_cursor;
  };
  const own = await cursorOf(agent.send, "");
  const text = Buffer.from(own, "base64url").toString();
  const encode = (changed: string) => Buffer.from(changed).toString("base64url");
  const cursors: Record<string, string> = {
    "of another filter": await cursorOf(agent.send, "&status=todo"),
    "of another priority": await cursorOf(agent.send, "&priority=medium"),
    "of the account": await cursorOf(person.send, ""),
    "of the account, this key": await cursorOf(person.send, `&key_id=${agent.key.id}`),
    truncated: own.slice(0, -1),
    "one character longer": `${own}A`,
    "with a character outside base64url": `${own}!`,
    "with padding": `${own}=`,
    "in another alphabet": Buffer.from(`${text}\u00ff\u00fe`).toString("base64"),
    "of another time": encode(text.replace(/^./, (first) => (first === "z" ? "y" : "z"))),
    "of another task": encode(text.replace(/tsk_./, "tsk_f")),
    "without its end": encode(text.slice(0, -1)),
    "with a character added": encode(`${text}x`),
    "an id alone": world.task.id,
    "the first letter's case": own.replace(/^./, (first) => first.toUpperCase()),
  };
  const { faults, add } = createCollector();
  const list = ROUTES.find((route) => route.procedure === "tasks.list")!;
  for (const [label, cursor] of Object.entries(cursors)) {
    const path = `/v1/tasks?limit=1&cursor=${encodeURIComponent(cursor)}`;
    add(label, await world.send(list, "key", {}, path), "invalid_fields", ["cursor"]);
  }
  const { status, body } = await other.send(`GET /v1/tasks?cursor=${own}`);
  expect([status, Object.keys(body.fields ?? {})]).toEqual([422, ["cursor"]]);
  expect((await agent.send(`GET /v1/tasks?limit=500&cursor=${own}`)).status).toBe(200);
  expect(faults).toEqual([]);
});
