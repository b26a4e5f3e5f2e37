/** Telegram with real processes: one is killed or stands still while people answer, and no token shows (§19.9.5, §19.1.4). */

import { expect, test } from "bun:test";
import { createClient } from "@libsql/client";
import { systemClock } from "../../src/clock.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { ask, client, createAgent, createPerson } from "../support/client.ts";
import { sampleOf } from "../support/exposition.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { createTestStore } from "../support/store.ts";
import { startTelegram } from "../support/telegram.ts";
import { until } from "../support/until.ts";

/** Two processes, and a person with a channel. */
async function begin() {
  const { url } = await createTestStore();
  // Each process spreads its own messages, so two of them could be refused as a flood.
  const telegram = await startTelegram({ clock: systemClock, strict: false });
  const bot = telegram.newBot();
  const env = {
    DATABASE_URL: url,
    TELEGRAM_API_ROOT: telegram.url,
    TELEGRAM_BOT_TOKEN: bot.token,
    OUTBOUND_PRIVATE: "127.0.0.0/8",
    ...ADMIN,
  };
  const apps: RelayProcess[] = [await startProcess(env), await startProcess(env)];
  const person = await createPerson(apps[0]!.url);
  const agent = await createAgent(apps[0]!.url, person, "builder");
  const user = telegram.newUser();
  const { body: link } = await person.send("POST /v1/channels/links", {
    type: "telegram",
    label: "Phone",
  });
  user.start(bot, new URL(link.link).searchParams.get("start")!);
  await until(
    async () => (await person.send(`GET /v1/channels/links/${link.id}`)).body.from !== null,
  );
  const made = await person.send(`POST /v1/channels/links/${link.id}/confirm`);
  expect(made.status).toBe(201);
  const message = (prompt: string) =>
    until(() => user.chat(bot).find(({ text }) => text.includes(prompt)));
  const listens = async (app: RelayProcess) =>
    sampleOf((await metricsOf(app.url)).all, "relay_listener_connections", {
      channel: "telegram",
    }) ?? 0;
  /** The process that polls the bot, and the other. */
  const holder = () =>
    until(async () => {
      const at = (await Promise.all(apps.map(listens))).indexOf(1);
      return at >= 0 && bot.isPolled() && { holds: apps[at]!, other: apps[1 - at]! };
    });
  return { url, telegram, bot, apps, person, agent, user, message, listens, holder };
}

/**
 * Stops a process where it holds no lock of the store: a stopped process that does would stop every other one that
 * writes.
 */
async function freeze({ kill }: RelayProcess, url: string): Promise<void> {
  const store = createClient({ url, timeout: 500 });
  await until(async () => {
    kill("SIGSTOP");
    const lock = await store.transaction("write").catch(() => null);
    lock?.close();
    if (!lock) kill("SIGCONT");
    return lock;
  });
  store.close();
}

// Both at the same time: each waits until a lease is over.
test("answers that come while the polling process is killed or stands still arrive once [§19.9.5] [§19.8.4]", async () => {
  const cases = (["SIGKILL", "SIGSTOP"] as const).map(async (signal) => {
    const { url, telegram, bot, person, agent, user, message, listens, holder } = await begin();
    const { holds, other } = await holder();
    const asks = client(other.url, agent.secret);
    const tapped = await ask(asks, { prompt: "Tap?" });
    const replied = await ask(asks, { prompt: "Reply?", kind: "text" });
    const to_tap = await message("Tap?");
    const to_reply = await message("Reply?");
    const data = to_tap.buttons.flat().find(({ text }) => text === "Yes")!.callback_data!;
    user.tap(bot, to_tap, "Yes", { data });
    if (signal === "SIGKILL") holds.kill(signal);
    else await freeze(holds, url);
    user.reply(bot, to_reply, "Ada");
    user.tap(bot, to_tap, "Yes", { data });
    const read = client(other.url, person.token);
    for (const [{ id }, answer] of [
      [tapped, "Yes"],
      [replied, "Ada"],
    ] as const) {
      await until(async () => (await read(`GET /v1/questions/${id}`)).body.answer === answer);
    }
    const items = (await asks("GET /v1/inbox")).body.items as { question: { id: string } }[];
    expect(items.map(({ question }) => question.id).sort()).toEqual([tapped.id, replied.id].sort());
    // It goes on, and finds that another process listens.
    if (signal === "SIGSTOP") {
      holds.kill("SIGCONT");
      await until(async () => (await listens(holds)) === 0);
    }
    await until(async () => (await read("GET /v1/channels")).body.channels[0].state === "ok");
    expect(telegram.faults).toEqual([]);
  });
  await Promise.all(cases);
});

test("the token of a bot is in no log, metric, page or process list [§19.1.4]", async () => {
  const { telegram, bot, apps, person, agent, message, holder } = await begin();
  await holder();
  const own = telegram.newBot();
  const made = await person.send("POST /v1/channels/links", {
    ...{ type: "telegram", label: "Own", token: own.token },
  });
  expect(made.status).toBe(201);
  for (const how of ["drop", "junk", 502, { refuse: [400, "Bad Request"] }] as const) {
    telegram.behave(how, "sendMessage");
    await ask(agent.send, { prompt: "Go?" });
    telegram.behave(how, "getMe");
    const refused = await person.send("POST /v1/channels/links", {
      ...{ type: "telegram", label: "Own", token: own.token },
    });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).not.toContain(own.token.split(":")[1]!);
  }
  telegram.behave("ok", "sendMessage");
  await ask(agent.send, { prompt: "Last?" });
  await message("Last?");
  const app = apps[0]!;
  const { stdout } = Bun.spawnSync(["ps", "-eo", "args"]);
  const admin = await fetch(`${app.url}/admin/status`, {
    headers: { authorization: `Bearer ${ADMIN.ADMIN_TOKEN}` },
  });
  const metrics = JSON.stringify([...(await metricsOf(app.url)).all]);
  const texts = [...apps.flatMap((one) => [one.log(), one.output()]), stdout.toString(), metrics];
  texts.push(await admin.text(), JSON.stringify((await person.send("GET /v1/channels")).body));
  for (const text of texts) {
    for (const { token } of [bot, own]) expect(text).not.toContain(token.split(":")[1]!);
  }
});
