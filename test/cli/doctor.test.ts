/** `relay doctor`: each hop on the way to the server, healthy and failing. */

import { afterAll, expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { createPair, createPerson, WEBHOOK } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startNtfy, tap } from "../support/ntfy.ts";
import { startReceiver } from "../support/receiver.ts";
import { createAuthority } from "../support/tls.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const receiver = startReceiver();
const real = () => Date.now() / 1000;

function createDoctor(url: string, credential: string, now = real) {
  return createUser({ clock, now, env: { RELAY_URL: url, RELAY_KEY: credential } });
}

interface Line {
  readonly hop: string;
  readonly status: string;
  readonly ms: number | null;
  readonly text: string;
  readonly advice: string | null;
}
const linesOf = (out: string): Line[] =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const short = (out: string) => linesOf(out).map(({ hop, status }) => `${hop} ${status}`);
const lineOf = (out: string, hop: string) => linesOf(out).find((line) => line.hop === hop)!;

/** A proxy between the command and the server. */
function startProxy(pass: (request: Request, target: string) => Response | Promise<Response>) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      return pass(request, app.url + pathname + search);
    },
  });
  afterAll(() => server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}
const passOn = async (request: Request, target: string): Promise<Response> => {
  const { method, headers, signal } = request;
  const body = method === "GET" ? null : await request.arrayBuffer();
  return await fetch(target, { method, headers, body, signal });
};

/** A proxy that forwards each chunk in two pieces, so that no line arrives whole. */
const startSplitter = () =>
  startProxy(async (request, target) => {
    const answer = await passOn(request, target);
    const pieces = async function* () {
      for await (const bytes of answer.body ?? []) {
        yield bytes.subarray(0, 3);
        await Bun.sleep(20);
        yield bytes.subarray(3);
      }
    };
    return new Response(pieces(), answer);
  });

test("every hop of a healthy agent passes, with the longest possible wait", async () => {
  const { agent } = await createPair(app.url);
  const { start } = createDoctor(app.url, agent.secret);
  const { code, printed } = start(["doctor", "--json"]);
  await until(() => app.waits.count() === 2);
  await clock.advance(LIMITS.sign_of_life);
  await until(() => printed.out.includes('"mcp"'));
  await clock.advance(50 - LIMITS.sign_of_life);
  expect(await code).toBe(0);
  expect(linesOf(printed.out)).toMatchObject([
    { hop: "address", status: "ok", text: "127.0.0.1 is an IP address", advice: null },
    { hop: "server", status: "ok", text: expect.stringMatching(/^version \d.*, store ok$/) },
    // On a busy machine the response may come a second later.
    { hop: "clock", status: "ok", ms: null, text: expect.stringMatching(/^no difference$|apart$/) },
    { hop: "credential", status: "ok", text: "of agent agent" },
    { hop: "mcp", status: "ok", ms: 3_000, text: "progress came after 3 s" },
    { hop: "long wait", status: "ok", ms: 50_000, text: "held for 50 s" },
    { hop: "channels", status: "ok", text: expect.stringContaining("an agent may not") },
  ]);
});

test("doctor says how to let answers come back, and that they can", async () => {
  const ntfy = await startNtfy();
  const person = await createPerson(app.local_url);
  const given = { type: "ntfy", label: "Phone", url: ntfy.url, replies: true };
  expect((await person.send("POST /v1/channels", given)).status).toBe(201);
  const line = async () => {
    const { out } = await createDoctor(app.local_url, person.token).run([
      ...["doctor", "--json", "--quick"],
    ]);
    return lineOf(out, "channel");
  };
  ntfy.permit((topic) => ({ read: true, write: !topic.startsWith("relay-reply-") }));
  expect(await line()).toMatchObject({
    status: "fail",
    text: "ntfy Phone: failed, replies_not_writable",
    advice: expect.stringContaining("Let everyone write to relay-reply-*"),
  });
  ntfy.permit(() => ({ read: true, write: true }));
  expect(await line()).toMatchObject({
    status: "ok",
    text: "ntfy Phone: sent; answers can come back; nobody has pressed It works in a test yet",
  });
  await tap(ntfy.published.at(-1), "It works");
  await until(async () => {
    const { body } = await person.send("GET /v1/channels");
    return body.channels[0].reached_at;
  });
  expect(await line()).toMatchObject({
    status: "ok",
    text: "ntfy Phone: sent; answers can come back",
  });
});

test("with an account token, doctor tests the event stream, even in pieces, and every channel", async () => {
  const person = await createPerson(app.url);
  const add = (path: string) =>
    person.send("POST /v1/channels", { ...WEBHOOK, url: receiver.url(path) });
  expect((await add("/good")).status).toBe(201);
  expect((await add("/bad")).status).toBe(201);
  receiver.behave(({ path }) => (path === "/bad" ? 410 : 200));
  const { start } = createDoctor(startSplitter(), person.token);
  const { code, printed } = start(["doctor", "--json"]);
  await until(() => printed.out.includes('"stream"'));
  await clock.advance(20);
  expect(await code).toBe(3);
  expect(lineOf(printed.out, "credential").text).toBe("of an account");
  expect(lineOf(printed.out, "stream")).toMatchObject({
    status: "ok",
    text: "the first event came",
  });
  expect(lineOf(printed.out, "ping")).toMatchObject({ status: "ok", ms: 20_000 });
  const channels = linesOf(printed.out).filter(({ hop }) => hop === "channel");
  expect(channels.map(({ status }) => status).sort()).toEqual(["fail", "ok"]);
});

test("doctor names a proxy that holds streams back, with what to do", async () => {
  const { person, agent } = await createPair(app.url);
  const held = Promise.withResolvers<Response>();
  afterAll(() => held.resolve(new Response()));
  const url = startProxy(async (request, target) => {
    if (target.endsWith("/v1/events")) return await held.promise;
    const answer = await passOn(request, target);
    return new Response(await answer.bytes(), answer);
  });
  const of_agent = createDoctor(url, agent.secret).start(["doctor", "--json"]);
  await until(() => app.waits.count() === 2);
  await clock.advance(20);
  await until(() => of_agent.printed.out.includes('"mcp"'));
  expect(lineOf(of_agent.printed.out, "mcp")).toMatchObject({
    status: "warn",
    text: "progress and result came together",
    advice: expect.stringContaining("buffering"),
  });
  of_agent.interrupt();
  expect(await of_agent.code).toBe(3);

  const before = clock.pendingIn(10);
  const of_person = createDoctor(url, person.token).start(["doctor", "--json"]);
  await until(() => of_person.printed.out.includes('"credential"'));
  await until(() => clock.pendingIn(10) > before);
  await clock.advance(10);
  expect(await of_person.code).toBe(3);
  expect(lineOf(of_person.printed.out, "stream")).toMatchObject({
    status: "fail",
    text: "no answer within 10 s",
    advice: expect.stringContaining("buffering"),
  });
});

test("doctor names a proxy that ends waits or refuses /mcp", async () => {
  const { agent } = await createPair(app.url);
  const url = startProxy((request, target) => {
    if (target.includes("/v1/inbox")) return new Response("late", { status: 504 });
    if (target.endsWith("/mcp")) {
      const body = { code: "forbidden", detail: "Set ALLOWED_HOSTS" };
      return new Response(JSON.stringify(body), {
        status: 403,
        headers: { "content-type": "application/problem+json" },
      });
    }
    return passOn(request, target);
  });
  const { code, out } = await createDoctor(url, agent.secret).run(["doctor", "--json"]);
  expect(code).toBe(3);
  expect(lineOf(out, "mcp")).toMatchObject({
    status: "fail",
    text: expect.stringContaining("403: Set"),
  });
  expect(lineOf(out, "long wait")).toMatchObject({
    status: "fail",
    text: expect.stringContaining("ended after 0 s of 50"),
    advice: expect.stringContaining("time-out"),
  });
});

test("doctor shows problems that the server reports as a warning [§5.12.1]", async () => {
  const { agent } = await createPair(app.url);
  const url = startProxy(async (request, target) => {
    const answer = await passOn(request, target);
    if (!target.endsWith("/health")) return answer;
    return Response.json({ ...((await answer.json()) as object), problems: ["clock_differs"] });
  });
  const { code, out } = await createDoctor(url, agent.secret).run(["doctor", "--quick", "--json"]);
  expect(code).toBe(0);
  expect(lineOf(out, "server")).toMatchObject({
    status: "warn",
    text: expect.stringContaining("problems: clock_differs"),
  });
});

test("doctor skips every check after a hop that failed", async () => {
  const json = ["doctor", "--quick", "--json"];
  const away = await createDoctor("http://127.0.0.1:1", "mck_x").run(json);
  expect([away.code, short(away.out)]).toEqual([3, ["address ok", "server fail"]]);
  const other = startProxy(() => new Response("hello"));
  const foreign = await createDoctor(other, "mck_x").run(json);
  expect(lineOf(foreign.out, "server").text).toBe("something other than Relay answers, with 200");
  const refused = await createDoctor(app.url, "mck_x").run(["doctor", "--quick"]);
  expect(refused.code).toBe(3);
  const last = refused.out.trim().split("\n").at(-1);
  expect(last).toMatch(
    /^fail {2}credential +\d+ ms {2}.*\. Run relay login <url>, or check RELAY_KEY$/,
  );
});

test("doctor notices a wrong clock, another version and an expiring certificate", async () => {
  const { agent } = await createPair(app.url);
  const url = startProxy(async (request, target) => {
    if (!target.endsWith("/health")) return await passOn(request, target);
    return Response.json({ status: "ok", version: "9.9.9", store: "ok" });
  });
  const late = createDoctor(url, agent.secret, () => real() - 3_600);
  const { code, out } = await late.run(["doctor", "--quick", "--json"]);
  expect(code).toBe(0);
  expect(lineOf(out, "server")).toMatchObject({
    status: "warn",
    advice: "Update the older of the two",
  });
  expect(lineOf(out, "clock")).toMatchObject({
    status: "warn",
    text: expect.stringMatching(/^the server's is \d+ s ahead$/),
  });
  const early = createDoctor(url, agent.secret, () => real() + 3_600);
  expect(lineOf((await early.run(["doctor", "--quick", "--json"])).out, "clock")).toMatchObject({
    status: "warn",
    text: expect.stringMatching(/ s behind$/),
  });

  const { issue } = await createAuthority();
  const server = Bun.serve({ port: 0, tls: await issue(), fetch: () => new Response() });
  afterAll(() => server.stop(true));
  const certificate = async (days: number) => {
    const doctor = createDoctor(
      `https://127.0.0.1:${server.port}`,
      "mck_x",
      () => real() + days * 86_400,
    );
    const { code, out } = await doctor.run(["doctor", "--quick", "--json"]);
    return [code, lineOf(out, "certificate")];
  };
  expect(await certificate(0)).toMatchObject([
    3,
    { status: "fail", text: expect.stringContaining("not trusted") },
  ]);
  expect(await certificate(32)).toMatchObject([
    3,
    { status: "fail", text: expect.stringMatching(/^it expired \d days ago$/) },
  ]);
});
