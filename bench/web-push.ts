/**
 * `bun run bench:web-push`: messages per second to a stand-in on the same machine, which decrypts and
 * checks each, and the CPU time of a message without it.
 */

import { expect, test } from "bun:test";
import webPush from "web-push";
import { sendMany } from "../test/support/push-load.ts";
import { startPushService } from "../test/support/push-service.ts";

const MESSAGES = 30_000;
const print = (line: string) => process.stdout.write(`${line}\n`);

test("tens of thousands of messages", async () => {
  const service = await startPushService();
  const from = performance.now();
  const verdicts = await sendMany(service, MESSAGES);
  const seconds = (performance.now() - from) / 1000;
  expect(verdicts).toEqual({ finish: MESSAGES });
  expect(service.faults).toEqual([]);
  expect(new Set(service.delivered.map(({ topic }) => topic)).size).toBe(MESSAGES);
  const rate = Math.round(MESSAGES / seconds);
  print(`${MESSAGES} messages, ${rate} a second, over ${service.connections()} connections`);

  const { endpoint, keys } = service.subscribe();
  const { publicKey, privateKey } = webPush.generateVAPIDKeys();
  const vapidDetails = { subject: "mailto:relay@example.com", publicKey, privateKey };
  const text = "x".repeat(900);
  const microseconds = (options: object) => {
    const times = 3_000;
    const begun = performance.now();
    for (let i = 0; i < times; i++) {
      webPush.generateRequestDetails({ endpoint, keys }, text, { TTL: 60, ...options });
    }
    return Math.round(((performance.now() - begun) / times) * 1000);
  };
  microseconds({ vapidDetails });
  const [signed, kept] = [microseconds({ vapidDetails }), microseconds({})];
  print(`${signed} µs to encrypt and sign a message, ${kept} µs with a signature that is kept`);
}, 300_000);
