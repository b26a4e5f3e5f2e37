/** Compares the model of a run of chaos with its effects: deliveries, queues, deleted accounts, and the store itself. */

import { client } from "../../test/support/client.ts";
import type { Owner } from "./agents.ts";
import type { Observer } from "./observer.ts";
import type { Reached } from "./stand-ins.ts";
import type { World } from "./world.ts";

/** Seconds that queues have to empty once it is calm: a lease, and the longest pause after a failed attempt. */
const EMPTY_WITHIN = 150;

export interface ReachedOwner extends Owner {
  readonly reached: Reached;
}

/** What still waits to be sent. */
const WAITING = `select 'push', kind, subject, lease, attempts, due_at - unixepoch() * 1000 from deliveries
    where kind <> 'silent' or parts <> '[]' or lease is not null
  union all select 'message', type, subject, lease, attempts, due_at - unixepoch() * 1000 from webhook_messages`;

/** Waits until nothing is queued, and all of what was deleted is gone. Returns the seconds that it took. */
export async function settleDown(world: World, observer: Observer): Promise<number> {
  const { model } = world;
  const from = performance.now();
  for (;;) {
    const [waiting, left] = [await observer.rows(WAITING), await leftOfDeleted(world, observer)];
    const seconds = (performance.now() - from) / 1000;
    if (waiting.length === 0 && left.length === 0) return seconds;
    if (seconds > EMPTY_WITHIN) {
      for (const row of waiting.slice(0, 5))
        model.contradict("queue", `still has ${row.join(" ")}`);
      for (const one of left.slice(0, 5)) model.contradict("deletion", one);
      return seconds;
    }
    await Bun.sleep(1_000);
  }
}

/** Places in any table that name a deleted account, or a key or question of it. */
async function leftOfDeleted({ model }: World, observer: Observer): Promise<string[]> {
  const ids = JSON.stringify(model.deleted.flatMap((one) => one.ids));
  if (ids === "[]") return [];
  const columns = (await observer.rows(
    `select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c
      where m.type = 'table' and m.name not like 'sqlite_%'`,
  )) as [string, string][];
  const left: string[] = [];
  for (const [table, list] of Map.groupBy(columns, ([name]) => name)) {
    const text = list.map(([, column]) => `coalesce("${column}", '')`).join(" || ' ' || ");
    const found = await observer.rows(
      `select ids.value from json_each('${ids}') ids where exists (select 1 from "${table}" where instr(${text}, ids.value))`,
    );
    left.push(...found.map(([id]) => `${table} still has ${id}`));
  }
  return left;
}

/** Each event and item reached its receiver, in order, and each notification shows how its question ended. */
export async function checkDeliveries(
  { model, services }: World,
  observer: Observer,
  owner: ReachedOwner,
): Promise<number> {
  const { reached, person, agent } = owner;
  const { receiver } = services;
  let checked = 0;
  const taken = receiver.got.filter(({ status }) => status < 300);
  const missed = new Map(
    (await observer.rows("select id, missed from channels")) as [string, number][],
  );
  const messages = taken.filter(({ path }) => path === reached.hook);
  const first = new Map<string, number>();
  messages.forEach(({ type, data }, i) => {
    const name = `${type} ${data.question?.id} ${data.question?.status}`;
    if (!first.has(name)) first.set(name, i);
  });
  const of_account = observer.events.filter((one) => one.account === person.account.id);
  for (const { name, data, subject } of of_account) {
    if (!name.startsWith("question.")) continue;
    const { question } = JSON.parse(data);
    const at = first.get(`${name} ${subject} ${question.status}`);
    checked++;
    if (at === undefined && !missed.get(reached.channels.webhook)) {
      model.contradict(question.prompt, `the webhook never got ${name} ${question.status}`);
    }
    const began = first.get(`question.created ${subject} pending`);
    if (at !== undefined && began !== undefined && at < began) {
      model.contradict(question.prompt, "the webhook got its end before its beginning");
    }
  }
  const posted = new Set(
    taken.filter(({ path }) => path === reached.key_hook).map(({ data }) => data.item?.id),
  );
  const items = await observer.rows(`select id from items where key_id = '${agent.key.id}'`);
  for (const [id] of items) {
    checked++;
    if (!posted.has(id)) model.contradict(`item ${id}`, "the webhook of its key never got it");
  }
  return checked + (await checkNotifications({ model, services }, observer, owner));
}

/** What each service shows about a question in the end. */
async function checkNotifications(
  { model, services }: Pick<World, "model" | "services">,
  observer: Observer,
  { reached, person }: ReachedOwner,
): Promise<number> {
  const { apple, pushes, ntfy, bot } = services;
  const rows = (await observer.rows(
    `select q.id, q.prompt, q.status, q.answered_by, d.target_id, d.status from questions q
      join question_deliveries d on d.question_id = q.id where q.account_id = '${person.account.id}'`,
  )) as [string, string, string, string | null, string, string][];
  const named = await observer.rows("select channel_id || ' ' || handle from channel_messages");
  const handles = new Set(named.flat());
  const mine = apple.delivered.filter(({ token }) => token === reached.apns_token);
  const alerted = new Set(mine.map(({ collapse_id }) => collapse_id));
  const cleared = new Set(mine.flatMap(({ payload }) => payload.relay.clear ?? []));
  for (const [id, prompt, status, answered_by, target, delivery] of rows) {
    const contradict = (text: string) => model.contradict(prompt, text);
    /** `shown`: the service has its alert. `ended`: it shows that the question is over. */
    const look = (name: string, shown: boolean, ended: boolean) => {
      if (delivery === "queued") contradict(`its notification by ${name} is queued for ever`);
      if (["sent", "shown", "opened"].includes(delivery) && !shown) {
        contradict(`its notification by ${name} is ${delivery} and never came`);
      }
      if (shown && !ended && status !== "pending") contradict(`${name} still asks`);
    };
    if (target === reached.device_id) look("APNs", alerted.has(id), cleared.has(id));
    if (target === reached.channels.ntfy) {
      const of = ntfy.published.filter((one) => one.sequence_id === id);
      look("ntfy", of.length > 0, of.at(-1)?.actions === undefined);
    }
    if (target === reached.channels.web_push) {
      const of = pushes.delivered.filter((one) => one.message.notification.tag === id);
      const last = of.at(-1)?.message.notification.data.event;
      look("Web Push", of.length > 0, last === "ended" || answered_by === target);
    }
    if (target === reached.channels.telegram) {
      const of = reached.user.chat(bot).filter((one) => one.from_bot && one.text.includes(prompt));
      // Relay cannot change a message whose acceptance was lost: it does not know what Telegram calls it (§19.9.6).
      const known = of.filter((one) => handles.has(`${target} ${one.message_id}`));
      const ended = known.every(({ buttons }) => buttons.length === 0);
      look("Telegram", of.length > 0, ended);
    }
  }
  return rows.length;
}

/** The file is sound, and every process is healthy and agrees with the store. */
export async function checkProcesses(world: World, observer: Observer, owner: Owner) {
  const { model, servers } = world;
  const integrity = JSON.stringify(await observer.rows("pragma integrity_check"));
  if (integrity !== '[["ok"]]') model.contradict("store", `integrity_check: ${integrity}`);
  const counted = await observer.rows(
    `select k.id from keys k where k.deleted_at is null and (
      k.unread <> (select count(*) from items where key_id = k.id and read_at is null)
      or k.tasks_todo + k.tasks_in_progress + k.tasks_done + k.tasks_cancelled
        <> (select count(*) from tasks where key_id = k.id))`,
  );
  for (const [id] of counted) model.contradict(`key ${id}`, "its counts differ from its rows");
  const lists: string[] = [];
  for (const { index, app } of servers.slots) {
    if (!app) {
      model.contradict(`process ${index}`, "does not run");
      continue;
    }
    const health = await client(app.url)("GET /health");
    // A clock that has just been set back is compared within seconds (§11.5.2).
    const problems = (health.body.problems ?? []).filter((one: string) => one !== "clock_differs");
    if (health.status !== 200 || problems.length > 0) {
      model.contradict(`process ${index}`, `health: ${JSON.stringify(health.body)}`);
    }
    const { body } = await client(app.url, owner.person.token)("GET /v1/tasks?limit=100");
    lists.push(JSON.stringify(body.tasks));
  }
  if (new Set(lists).size > 1) model.contradict("processes", "they return different lists");
}
