/** The people of a run of chaos: they answer, write, read streams and inboxes, flood, and delete their accounts. */

import { type Agent, type Answer, client, DEVICE, type Person } from "../../test/support/client.ts";
import { tap } from "../../test/support/ntfy.ts";
import type { Owner } from "./agents.ts";
import { type AnswerRecord, newSent, type QuestionRecord, type StreamRecord } from "./model.ts";
import { createAccount, type Reached } from "./stand-ins.ts";
import type { World } from "./world.ts";

/** Milliseconds between two looks at what is pending. */
const LOOK_EVERY = 250;

/** Ways of which one answer at most is acknowledged; a ticket also gets the answer of somebody else confirmed (§19.7.4). */
export const BY_TOKEN: ReadonlySet<string> = new Set(["REST", "tRPC", "race"]);

/** Answers with the account's token, over REST or tRPC. */
async function answerBy(
  world: World,
  way: "REST" | "tRPC",
  token: string,
  question: QuestionRecord,
): Promise<void> {
  const { model } = world;
  const { prompt } = question;
  const n = question.answers.length;
  const answer = question.kind === "text" ? `Answer ${n} to ${prompt}` : n % 2 ? "No" : "Yes";
  const record: AnswerRecord = { ...newSent(), answer, note: `Note ${n} to ${prompt}`, way };
  question.answers.push(record);
  model.did(`${way} answer`);
  const given = { answer, note: record.note };
  const line = way === "REST" ? `/v1/questions/${question.id}/answer` : "/trpc/questions.answer";
  const result = await world.request(record, {
    entity: prompt,
    credential: token,
    line: `POST ${line}` as `POST /${string}`,
    body: way === "REST" ? given : { ...given, question_id: question.id },
    ok: [200],
    refused: [409],
    key: crypto.randomUUID(),
  });
  if (result?.status === 200) question.answered_at ??= performance.now();
  const winners = question.answers.filter(
    ({ fate, way }) => fate === "acknowledged" && BY_TOKEN.has(way),
  );
  if (winners.length > 1) {
    const ways = winners.map((one) => `${one.way} ${JSON.stringify(one.answer)}`);
    model.contradict(prompt, `${winners.length} answers were acknowledged: ${ways.join(", ")}`);
  }
  const { cancelled, task } = question;
  const others =
    question.answers.length > 1 || cancelled !== null || (task?.removed ?? null) !== null;
  if (result?.status === 409 && !others) {
    model.contradict(prompt, `its only answer was refused: ${JSON.stringify(result.body)}`);
  }
}

/** Answers by a channel, once its notification is there: as a person does who looks at a phone. */
async function answerByChannel(
  world: World,
  way: "ntfy" | "Telegram" | "Web Push",
  question: QuestionRecord,
  reached: Reached,
): Promise<void> {
  const { model, services, random } = world;
  const { prompt, id } = question;
  const gone = () => world.stopping && question.told !== null;
  const look = async <T>(find: () => T | undefined): Promise<T | undefined> => {
    for (let found = find(); !gone(); found = find()) {
      if (found !== undefined) return found;
      await Bun.sleep(100);
    }
    return undefined;
  };
  const answer = question.kind === "text" ? `Reply to ${prompt}` : "Yes";
  const record: AnswerRecord = { ...newSent(), answer, note: null, way };
  const again = random() < 0.3;
  if (way === "ntfy") {
    const shown = await look(() =>
      services.ntfy.published.find(
        (one) => one.topic === reached.topic && one.sequence_id === id && one.actions,
      ),
    );
    if (!shown) return;
    question.answers.push(record);
    model.note(prompt, `tapped Yes in ntfy${again ? " twice" : ""}`);
    for (let left = again ? 2 : 1; left > 0; ) {
      // The app says so when the server is away, and the person taps again.
      const status = await tap(shown, "Yes").catch(() => 0);
      if (status === 200) left--;
      else await Bun.sleep(200);
    }
    model.settle(record, "acknowledged");
  } else if (way === "Telegram") {
    const { user } = reached;
    const message = await look(() =>
      user.chat(services.bot).find((one) => one.from_bot && one.text.includes(prompt)),
    );
    if (!message) return;
    question.answers.push(record);
    model.note(prompt, `answered in Telegram${again ? " twice" : ""}`);
    for (let i = again ? 2 : 1; i > 0; i--) {
      if (question.kind === "text") user.reply(services.bot, message, answer);
      else if (message.buttons.length > 0) user.tap(services.bot, message, "Yes");
    }
    model.settle(record, "acknowledged");
  } else {
    const pushed = await look(() =>
      services.pushes.delivered.find(
        (one) => one.endpoint === reached.endpoint && one.message.notification.tag === id,
      ),
    );
    const ticket = pushed?.message.notification.data.ticket;
    if (!ticket) return;
    question.answers.push(record);
    await world.request(record, {
      entity: prompt,
      credential: ticket,
      line: `POST /v1/questions/${id}/answer`,
      body: { answer },
      ok: [200],
      refused: [409],
      may_give_up: false,
    });
  }
  question.answered_at ??= performance.now();
  model.did(`${way} answer`);
}

/** Answers everything of an account that is pending, each question in its own way. */
export async function answerAll(
  world: World,
  person: Person,
  reached: Reached | null,
  over: () => boolean,
): Promise<void> {
  const { model, random } = world;
  const seen = new Set<string>();
  const under_way = new Set<Promise<void>>();
  const answer = async (question: QuestionRecord) => {
    await world.pause(300);
    // Several at once, of which one may win.
    const both = random() < 0.4;
    const channel = reached && random() < 0.8;
    if (channel) {
      const ways = ["ntfy", "Telegram", "Web Push"] as const;
      // ntfy has no field for a text.
      const way = world.pick(question.kind === "text" ? (["Telegram"] as const) : ways);
      const by_channel = answerByChannel(world, way, question, reached);
      await Promise.all([by_channel, both && answerBy(world, "REST", person.token, question)]);
      return;
    }
    const ways = both
      ? (["REST", "tRPC", "REST"] as const)
      : [world.pick(["REST", "tRPC"] as const)];
    await Promise.all(ways.map((way) => answerBy(world, way, person.token, question)));
    const lost = question.answers.every(({ fate }) => fate === "unknown");
    // Nobody knows whether it was answered: somebody looks again.
    if (lost) seen.delete(question.prompt);
  };
  while (!over()) {
    const list = await world.request(newSent(), {
      entity: person.account.id,
      credential: person.token,
      line: "GET /v1/questions?limit=100",
      ok: [200],
    });
    for (const { id, prompt } of (list?.body?.questions ?? []) as {
      id: string;
      prompt: string;
    }[]) {
      const question = model.questions.get(prompt);
      if (!question) {
        model.contradict(prompt, "a question that nobody asked");
        continue;
      }
      if (question.id !== null && question.id !== id) model.contradict(prompt, "exists twice");
      question.id = id;
      // The answer to a race is part of the race.
      if (seen.has(prompt) || prompt.includes(" race ")) continue;
      seen.add(prompt);
      const one = answer(question);
      under_way.add(one);
      void one.finally(() => under_way.delete(one));
    }
    await Bun.sleep(LOOK_EVERY);
  }
  await Promise.all(under_way);
}

/** Messages from a person to an agent. */
export async function writeMessages(world: World, { person, agent, name }: Owner): Promise<void> {
  for (let n = 0; !world.stopping; n++) {
    const text = `${name} message ${n}`;
    const made = newSent();
    world.model.messages.set(text, { text, to: agent.key.id, account: person.account.id, made });
    world.model.did("REST message");
    await world.request(made, {
      entity: text,
      credential: person.token,
      line: "POST /v1/messages",
      body: { key_id: agent.key.id, text },
      ok: [201],
      key: crypto.randomUUID(),
    });
    await world.pause(1_200);
  }
}

/** Reads the inbox of a key as the interface advises, so that it gets every item at least once. */
export async function readInbox(world: World, { key, secret }: Agent, over: () => boolean) {
  const items: string[] = [];
  world.model.inboxes.push({ key: key.id, items });
  const seen = new Set<string>();
  for (let ack = ""; !over(); ) {
    const answer = await world.request(newSent(), {
      entity: `inbox of ${key.id}`,
      credential: secret,
      line: `GET /v1/inbox?peek=true&limit=20&wait=2${ack && `&ack=${ack}`}`,
      ok: [200],
      wait: 2,
    });
    for (const { id } of (answer?.body?.items ?? []) as { id: string }[]) {
      if (!seen.has(id)) items.push(id);
      seen.add(id);
      ack = id;
    }
    world.model.did("inbox read");
  }
}

/** Follows the event stream of an account, and reads its tasks after each `ready`. */
export async function followStream(world: World, person: Person, over: () => boolean) {
  const { model } = world;
  while (!over()) {
    const slot = world.anySlot();
    const stop = new AbortController();
    const record: StreamRecord = {
      account: person.account.id,
      process: slot.index,
      frames: [],
      list: null,
      open: true,
    };
    const read = async () => {
      const response = await fetch(`${slot.link.url}/v1/events`, {
        headers: { authorization: `Bearer ${person.token}`, accept: "text/event-stream" },
        signal: stop.signal,
      });
      if (!response.ok || !response.body) return;
      model.did("stream opened");
      model.streams.push(record);
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of response.body) {
        const frames = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
        rest = frames.pop()!;
        for (const frame of frames) {
          const [, name, data] = /^event: ([a-z.]+)\ndata: (.*)$/.exec(frame) ?? [];
          if (name === "ready") void readTasks(world, person, record);
          else if (name) record.frames.push(`${name} ${data}`);
        }
      }
    };
    const closing = (async () => {
      while (!over() && record.open) await Bun.sleep(100);
      stop.abort();
    })();
    await read().catch(() => {});
    // One that is closed because the run is over must have everything.
    record.open = over();
    await closing;
    await world.pause(300);
  }
}

async function readTasks(world: World, person: Person, record: StreamRecord): Promise<void> {
  const list = new Map<string, number>();
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Answer | null = await world.request(newSent(), {
      entity: person.account.id,
      credential: person.token,
      line: `GET /v1/tasks?limit=500${cursor && `&cursor=${cursor}`}`,
      ok: [200],
    });
    if (page?.status !== 200) return;
    for (const { id, updated_at } of page.body.tasks) list.set(id, updated_at);
    cursor = page.body.next_cursor;
  }
  record.list = list;
}

/** One account asks for more than its share, without patience. */
export async function flood(world: World, { person, agent, name }: Owner, lanes: number) {
  const { model, random } = world;
  const lane = async (of: number) => {
    for (let n = 0; !world.stopping; n++) {
      const title = `${name} flood ${of} ${n}`;
      await world.pause(60);
      const send = client(world.anySlot().link.url, agent.secret);
      const signal = AbortSignal.timeout(5_000);
      if (random() < 0.5) {
        await send("GET /v1/tasks?limit=100", undefined, { signal }).catch(() => {});
        model.did("flood read");
        continue;
      }
      const made = { ...newSent(), tries: 1 };
      const answer = await send("POST /v1/tasks", { title }, { signal }).catch(() => null);
      model.did(answer?.status === 429 ? "flood refused" : "flood create");
      if (answer?.status === 429) {
        await world.pause(200);
        continue;
      }
      model.note(title, `POST /v1/tasks: ${answer?.status ?? "no response"}`);
      model.settle(made, answer?.status === 201 ? "acknowledged" : "unknown");
      model.tasks.set(title, {
        title,
        account: person.account.id,
        key: agent.key.id,
        id: answer?.status === 201 ? answer.body.id : null,
        made,
        patches: [],
        removed: null,
      });
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, of) => lane(of)));
}

/** An account with something in every table that is deleted in the middle of it. */
export async function liveAndLeave(world: World, n: number): Promise<void> {
  const { model, services } = world;
  const entity = `account that leaves ${n}`;
  let person: Person | null = null;
  // Without a response there may be an account that nobody can use.
  while (!person) {
    person = await createAccount(world.anySlot().link.url).catch(() => null);
    if (!person) await world.pause(400);
  }
  const { account, token } = person;
  const ids = [account.id];
  const send = (line: `${string} /${string}`, body?: object) =>
    world.request(newSent(), { entity, credential: token, line, body, ok: [200, 201] });
  const key = await send("POST /v1/keys", { label: "leaving" });
  const secret = key?.body?.secret;
  await send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, {
    ...DEVICE,
    apns_token: crypto.randomUUID().replaceAll("-", ""),
  });
  await send("POST /v1/channels", { type: "ntfy", label: "Leaving", url: services.ntfy.url });
  if (secret) {
    ids.push(key.body.key.id);
    for (let i = 0; i < 3; i++) {
      const made = await world.request(newSent(), {
        entity,
        credential: secret,
        line: "POST /v1/questions",
        body: { prompt: `${entity} asks ${i}` },
        ok: [201],
      });
      if (made?.body?.id) ids.push(made.body.id);
    }
  }
  const sent = newSent();
  model.did("account deleted");
  const gone = await world.request(sent, {
    entity,
    credential: token,
    line: "DELETE /v1/account",
    // A repeated one has no credential any more.
    ok: [204, 401],
    may_give_up: false,
  });
  if (gone?.status === 401 && sent.tries === 1) model.contradict(entity, "refused before its end");
  model.deleted.push({ account: account.id, ids });
}
