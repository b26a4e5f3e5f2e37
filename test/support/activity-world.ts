/** A push world whose people look at live activities. */

import { expect } from "bun:test";
import type { Received } from "./apple-checks.ts";
import { createPushWorld, newToken } from "./push-world.ts";

/** The state of a task that shows as a live activity. */
export const working = { title: "Build", status: "in_progress" };

export async function createActivityWorld() {
  const world = await createPushWorld();
  const { advance } = world;

  /** A person with two phones, an agent, and what their live activities show. */
  async function people() {
    const made = await world.people("a", "b");
    const { person, phones } = made;
    await advance(61);
    await made.told();
    const [a, b] = phones;
    return {
      ...made,
      a: a!,
      b: b!,
      /** A phone's app registers the activity; returns its token. */
      async show(task_id: string, phone = a!, push_token = newToken("a shown")): Promise<string> {
        const body = { device_id: phone.id, push_token };
        const { status } = await person.send(`PUT /v1/tasks/${task_id}/live-activity`, body);
        expect(status).toBe(204);
        return push_token;
      },
      hide: (task_id: string, phone = a!) =>
        person.send(`DELETE /v1/tasks/${task_id}/live-activity`, { device_id: phone.id }),
      shown: () =>
        world.rows(
          `select push_token, ended_at is not null from live_activities where account_id = '${person.account.id}' order by rowid`,
        ),
    };
  }

  /** The live-activity pushes since the last call. */
  const activities = async (): Promise<Received[]> =>
    (await world.take()).filter(({ type }) => type === "liveactivity");
  const eventsOf = (pushes: Received[]) =>
    pushes.map(({ token, payload }) => [token, payload.aps.event]);

  return { world, people, activities, eventsOf };
}
