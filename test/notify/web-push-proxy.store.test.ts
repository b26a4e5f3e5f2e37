/** Web Push through the proxy that the operator names (§11.6.4). */

import { afterAll, expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startPushService } from "../support/push-service.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const service = await startPushService({ now: clock.now });
const env = { ...service.env, PUBLIC_URL: "https://relay.example/" };

test("browsers' push services are reached through the proxy if one is configured [§11.6.4]", async () => {
  const asked: string[] = [];
  const proxy = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, data) {
        asked.push(data.toString().split(" HTTP")[0]!);
        socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
      },
    },
  });
  afterAll(() => proxy.stop(true));
  const OUTBOUND_PROXY = `http://127.0.0.1:${proxy.port}`;
  const peer = await startTestApp({ clock, env: { ...env, OUTBOUND_PROXY } });
  const person = await createPerson(peer.local_url);
  const agent = await createAgent(peer.local_url, person, "builder");
  const own = { type: "web_push", label: "Firefox", subscription: service.subscribe() };
  expect((await person.send("POST /v1/channels", own)).status).toBe(201);
  const away = { ...service.subscribe(), endpoint: "https://fcm.googleapis.com/fcm/send/abc" };
  const body = { type: "web_push", label: "Chrome", subscription: away };
  expect((await person.send("POST /v1/channels", body)).status).toBe(201);
  service.take();
  const question = await ask(agent.send);
  await until(() => asked.length > 0);
  await peer.sender.settled();
  expect(asked).toEqual(["CONNECT fcm.googleapis.com:443"]);
  expect(service.take().map((pushed) => pushed.endpoint)).toEqual([own.subscription.endpoint]);
  const { body: got } = await person.send(`GET /v1/questions/${question.id}/deliveries`);
  const states = got.deliveries.map(({ target, status }: any) => `${target.label} ${status}`);
  expect(states.toSorted()).toEqual(["Chrome queued", "Firefox sent"]);
  // NO_PROXY is for other programs, and stays as it is.
  process.env.NO_PROXY = "*";
  afterAll(() => delete process.env.NO_PROXY);
  const { channels } = (await person.send("GET /v1/channels")).body;
  const { id } = channels.find((channel: { label: string }) => channel.label === "Chrome");
  const tested = await person.send(`POST /v1/channels/${id}/test`);
  expect(tested.body).toMatchObject({ status: "failed", reason: "unreachable" });
  expect(new Set(asked)).toEqual(new Set(["CONNECT fcm.googleapis.com:443"]));
  expect(asked.length).toBeGreaterThan(1);
  expect(process.env.NO_PROXY).toBe("*");
});
