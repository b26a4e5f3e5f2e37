/** Makes the services of a process. What `createServices` returns is the one list of them. */

import type { AttestationCheck } from "../auth/attestation.ts";
import type { Tickets } from "../auth/tickets.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { RATES, type Rate } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Channel } from "../notify/core/channel.ts";
import type { HostSlots } from "../notify/core/host-slots.ts";
import { createReachCheck } from "../notify/core/reach-check.ts";
import type { connectLanes, Sender } from "../notify/core/sender.ts";
import { createReplyReader } from "../notify/replies/reader.ts";
import { createUrlCheck } from "../notify/webhooks/url-check.ts";
import { createWebhookWorker } from "../notify/webhooks/worker.ts";
import { createSealedRequests } from "../oauth/requests.ts";
import type { Traces } from "../observability/traces.ts";
import type { Outbound } from "../outbound/guard.ts";
import { createAccounts } from "./accounts.ts";
import { createAttestations } from "./attestations.ts";
import { createChannelLinks } from "./channel-links.ts";
import { createChannels } from "./channels.ts";
import { createConsents } from "./consents.ts";
import { createDeliveries } from "./deliveries.ts";
import { createDevices } from "./devices.ts";
import { createGrants } from "./grants.ts";
import { createInbox } from "./inbox.ts";
import { createInboxPosts } from "./inbox-posts.ts";
import { createKeyWebhooks } from "./key-webhooks.ts";
import { createKeys } from "./keys.ts";
import { createLiveActivities } from "./live-activities.ts";
import { createNudges } from "./nudges.ts";
import { createPairings } from "./pairings.ts";
import { createPeople } from "./people.ts";
import { createPermissions } from "./permissions.ts";
import { createQuestions } from "./questions.ts";
import { createRecovery } from "./recovery.ts";
import { createReplies } from "./replies.ts";
import { createRequestLog } from "./request-log.ts";
import { createSessions } from "./sessions.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import { createAddressUses } from "./shared/use-limits.ts";
import { createStartCode } from "./start-code.ts";
import { createDeliveryFigures } from "./store-statistics.ts";
import { createTaskHistory } from "./task-history.ts";
import { createTasks } from "./tasks.ts";
import { createTestAnswers } from "./test-answers.ts";

/** What procedures find as `services` in their context. */
export type Services = ReturnType<typeof createServices>["services"];

interface CreateServicesDeps extends ServiceDeps {
  /** Real time, also in tests, for connections. */
  readonly timers: Clock;
  readonly log: Log;
  /** Null without a collector of traces. */
  readonly traces: Traces | null;
  readonly config: Config;
  /** All notification channels, configured or not. */
  readonly channels: readonly Channel[];
  readonly lanes: Awaited<ReturnType<typeof connectLanes>>;
  readonly outbound: Outbound;
  readonly slots: HostSlots;
  readonly tickets: Tickets;
  readonly sender: Sender;
  /** Null while the server requires no attestation. */
  readonly attestation_check: AttestationCheck | null;
}

/**
 * The services, and the workers that they depend on; nothing runs before the workers are started. What serves the
 * procedures goes into `services`: its type is the context's, and needs no second list.
 */
export function createServices(given: CreateServicesDeps) {
  const { store, storage, clock, timers, signer, config, channels, lanes, outbound, sender } =
    given;
  const perHour = (rate: Rate): number => (config.RATE_LIMITS === "on" ? rate.quota : 0);
  const requests = createSealedRequests(signer);
  const start_code = createStartCode({ store, signer });
  const admitAddressUse = createAddressUses({ store, clock, is_on: config.RATE_LIMITS === "on" });
  const keys = createKeys(given);
  // A service takes what it needs of these.
  const shared = {
    ...{ ...given, keys, requests, admitAddressUse, startCode: start_code },
    grants: createGrants({ ...given, keys }),
    tasks: createTasks({ ...given, keys }),
    questions: createQuestions({ ...given, keys }),
    nudges: createNudges(given),
    people: createPeople(given),
    attestations: createAttestations({ ...given, check: given.attestation_check }),
    testAnswers: createTestAnswers(given),
    checkUrl: createUrlCheck({ outbound, timers }),
  };
  const { grants, tasks, questions, nudges, people, attestations } = shared;
  const webhooks = createWebhookWorker({ ...given, items: createInboxPosts(shared) });
  const laneHealth = () => [...sender.health(), webhooks.health()];
  const replies = createReplies(shared);
  const channel_links = createChannelLinks({
    ...shared,
    linkedChannel(type) {
      const found = lanes.find(({ channel }) => channel.name === type);
      const { links, lane } = found?.connection ?? {};
      const replies = found?.channel.replies;
      return links && replies && lane !== undefined ? { lane, links, replies } : undefined;
    },
  });
  const reply_reader = createReplyReader({
    ...given,
    handle: (event, account_id) =>
      event.kind === "link" ? channel_links.visited(event) : replies.handle(event, account_id),
  });
  const services = {
    ...{ storage, keys, people, grants, attestations, tasks, questions, nudges },
    accounts: createAccounts(shared),
    consents: createConsents(shared),
    sessions: createSessions(given),
    pairings: createPairings(given),
    recovery: createRecovery(given),
    devices: createDevices(given),
    channels: createChannels({
      ...{ ...shared, webhooks, reply_reader },
      checkReach: createReachCheck(outbound),
      tests_per_hour: perHour(RATES.channel_tests),
    }),
    channelLinks: channel_links,
    keyWebhooks: createKeyWebhooks({
      ...{ ...shared, webhooks },
      sets_per_hour: perHour(RATES.webhook_sets),
    }),
    taskHistory: createTaskHistory(given),
    permissions: createPermissions(given),
    deliveries: createDeliveries({
      ...given,
      openLanes: () => sender.openLanesFor("question"),
      channelOf: (lane) => channels.find(({ lanes }) => lanes.includes(lane))?.name ?? null,
    }),
    inbox: createInbox(shared),
    liveActivities: createLiveActivities(given),
    deliveryFigures: createDeliveryFigures({
      ...{ store, health: laneHealth },
      webhook_lane: webhooks.lane,
    }),
    requestLog: createRequestLog(shared),
  };
  return { services, webhooks, reply_reader, start_code, requests, laneHealth };
}
