/** Many messages to many browsers over one connection of the channel, without a store. */

import { systemClock } from "../../src/clock.ts";
import { readConfig } from "../../src/config.ts";
import { newQuestion } from "../../src/model/question.ts";
import { composeQuestion } from "../../src/notify/core/compose.ts";
import { webPush } from "../../src/notify/web-push/channel.ts";
import { createSigner } from "../../src/signer.ts";
import { createNetwork } from "./outbound.ts";
import type { PushService } from "./push-service.ts";

const BROWSERS = 100;

/** Sends `messages` questions, as many at once as the channel does, and counts them by verdict. */
export async function sendMany(service: PushService, messages: number) {
  const config = readConfig(service.env);
  const network = createNetwork();
  const [connection] = await webPush.connect(config, systemClock, network);
  const secretOf = async (_name: string, fresh: string) => fresh;
  await connection!.prepare!({ secretOf, signer: createSigner("signing") });
  const browsers = Array.from({ length: BROWSERS }, () => {
    const { endpoint, keys } = service.subscribe(connection!.clientKey!());
    return JSON.stringify({ endpoint, ...keys });
  });
  const verdicts: Record<string, number> = {};
  let next = 0;
  const send = async () => {
    for (let i = next++; i < messages; i = next++) {
      const now = systemClock.now();
      const of = { id: `qst_${i.toString(16).padStart(32, "0")}`, key_id: "key_0", now };
      const question = newQuestion({ prompt: `Question ${i} `.repeat(20) }, of);
      const key = { label: "builder", last_host: null };
      const request = webPush.render(composeQuestion(question, key, { full: true }), {
        address: browsers[i % BROWSERS]!,
        delivery_id: "",
        base_url: "https://relay.example",
        ticket: `mcq_${"x".repeat(86)}`,
        shown: null,
        badge: i,
        handle: null,
        codes: null,
      });
      const owner = `acc_${i % BROWSERS}`;
      const answer = await connection!.send(request!, { owner, is_test: false });
      const { do: verdict } = webPush.classify(answer, {
        kind: "question",
        attempts: 1,
        resent: false,
      });
      verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connection!.in_flight! }, send));
  return verdicts;
}
