/** Targets equal the token columns and live activities that versions before 0.2.0 write. */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";

/** The expected targets, from what the earlier versions know. */
const EXPECTED = `
  select account_id, 'alert', id, '', apns_environment, apns_token, updated_at from devices where apns_token is not null
  union all select account_id, 'widget', id, '', apns_environment, widget_push_token, updated_at from devices where widget_push_token is not null
  union all select account_id, 'activity_start', id, '', apns_environment, push_to_start_token, updated_at from devices where push_to_start_token is not null
  union all select l.account_id, 'activity', device_id, task_id, apns_environment, push_token, l.updated_at
    from live_activities l join devices v on v.account_id = l.account_id and v.id = l.device_id where ended_at is null
  order by 1, 2, 3, 4`;
const TARGETS =
  "select account_id, purpose, recipient_id, subject, lane, address, updated_at from push_targets order by 1, 2, 3, 4";

async function open() {
  const { url } = await createTestStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  return {
    close: () => store.close(),
    run: (text: string) => store.write([statement(sql.raw(text))({})]),
    rows: (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({})),
  };
}

const DEVICE = `devices (account_id, id, platform, model, os_version, app_version, apns_environment, apns_token, push_to_start_token, widget_push_token, updated_at)`;
const TOKENS = ["apns_token", "push_to_start_token", "widget_push_token"] as const;

test(
  "targets follow 400 random statements of an earlier version, and removing a target clears its token there",
  seeded("push targets", async (random) => {
    const { run, rows, close } = await open();
    const one = <Item>(list: readonly Item[]) => list[Math.floor(random() * list.length)]!;
    let last = 0;
    // No token occurs twice, since the newest registration takes it from any other.
    const token = () => (random() < 0.3 ? "null" : `'t${++last}'`);
    const device = () => `account_id = '${one(["a", "b"])}' and id = '${one(["d1", "d2"])}'`;
    const shown = () =>
      `account_id = '${one(["a", "b"])}' and device_id = '${one(["d1", "d2"])}' and task_id = '${one(["t1", "t2"])}'`;
    const steps: (() => Promise<unknown>)[] = [
      () =>
        run(`insert into ${DEVICE} values ('${one(["a", "b"])}', '${one(["d1", "d2"])}', 'ios', 'm', '1', '1',
          '${one(["production", "sandbox"])}', ${token()}, ${token()}, ${token()}, ${++last})
          on conflict (account_id, id) do update set apns_environment = excluded.apns_environment, apns_token = excluded.apns_token,
            push_to_start_token = excluded.push_to_start_token, widget_push_token = excluded.widget_push_token, updated_at = excluded.updated_at`),
      () => run(`update devices set ${one(TOKENS)} = null where ${device()}`),
      () => run(`update devices set ${TOKENS.map((name) => `${name} = null`)} where ${device()}`),
      () => (random() < 0.3 ? run(`delete from devices where ${device()}`) : Promise.resolve()),
      () =>
        run(`insert into live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at)
          select account_id, id, '${one(["t1", "t2"])}', 'k', 't${++last}', 0, ${++last} from devices where ${device()}
          on conflict (account_id, device_id, task_id) do update set push_token = excluded.push_token, updated_at = excluded.updated_at, ended_at = null`),
      () => run(`update live_activities set ended_at = ${++last} where ${shown()}`),
      () => run(`update live_activities set stamp = stamp + 1 where ${shown()}`),
      () => run(`delete from live_activities where ${shown()}`),
      // What this version does when a push service no longer knows an address.
      () =>
        run(
          `delete from push_targets where address = (select address from push_targets order by updated_at % 7 limit 1)`,
        ),
    ];
    let most = 0;
    for (let i = 0; i < 400; i++) {
      await one(steps)();
      const targets = await rows(TARGETS);
      most = Math.max(most, targets.length);
      expect(targets).toEqual(await rows(EXPECTED));
    }
    // There were some targets to follow.
    expect(most).toBeGreaterThan(3);
    await close();
  }),
);

test("removing a target clears only its own token, and no activity that has ended", async () => {
  const { run, rows, close } = await open();
  await run(
    `insert into ${DEVICE} values ('a', 'd', 'ios', 'm', '1', '1', 'sandbox', 'x', 'y', 'z', 1)`,
  );
  const activity =
    "live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at)";
  await run(
    `insert into ${activity} values ('a', 'd', 't1', 'k', 'p', 1, 1), ('a', 'd', 't2', 'k', 'q', 1, 1)`,
  );
  await run("update live_activities set ended_at = 2 where task_id = 't2'");
  const left = async () => [
    ...(await rows("select apns_token, push_to_start_token, widget_push_token from devices")),
    ...(await rows("select task_id from live_activities")),
  ];
  await run("delete from push_targets where purpose = 'widget'");
  expect(await left()).toEqual([["x", "y", null], ["t1"], ["t2"]]);
  await run("delete from push_targets where purpose = 'activity'");
  expect(await left()).toEqual([["x", "y", null], ["t2"]]);
  await run("delete from push_targets where purpose = 'alert'");
  expect(await left()).toEqual([[null, "y", null], ["t2"]]);
  expect(await rows("select purpose, address from push_targets")).toEqual([
    ["activity_start", "y"],
  ]);
  await close();
});
