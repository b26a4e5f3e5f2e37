/**
 * Web Push in this browser: subscribes, keeps its channel on the server up to date, and unsubscribes.
 */

import { after, elapsed } from "../clock.ts";
import { onWorkerMessage } from "../messages.ts";
import { type Api, type Channel, faultOf } from "./api.ts";
import { browserLabel } from "./browser-label.ts";
import { keepPushChannel, type PushSettings, pushChannel } from "./push-channel.ts";
import { scoped } from "./storage.ts";
import type { Store } from "./store.ts";
import { ownWorker, readyWorker } from "./worker.ts";

/** Seconds between two checks of the channel, at least. */
const EVERY = 600;

/** Seconds to wait for the browser to subscribe. */
const PATIENCE = 30;

/** The key that the server sends Web Push messages with; null while Web Push is off there. */
export async function serverKey(api: Api): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    const { public_key } = await api.channels.key.query({});
    const text = atob(public_key.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  } catch (error) {
    if (faultOf(error).code === "not_found") return null;
    throw error;
  }
}

/** Thrown if the browser did not subscribe: its push service is off, or cannot be reached. */
export class NotSubscribed extends Error {}

/**
 * Subscribes this browser and makes its channel; the permission must already be granted. Throws
 * {@link NotSubscribed}, or the server's error.
 */
export async function subscribe(api: Api, key: Uint8Array<ArrayBuffer>): Promise<void> {
  const subscription = await subscriptionFor(key);
  await post(api, subscription, {});
}

/** Ends notifications to this browser, here and on the server. Throws the server's error. */
export async function unsubscribe(api: Api): Promise<void> {
  const own = pushChannel();
  if (own) await api.channels.delete.mutate({ channel_id: own.id });
  await forget();
}

/** Ends notifications to this browser without the server. */
async function forget(): Promise<void> {
  keepPushChannel(null);
  const worker = await ownWorker();
  await (await worker?.pushManager?.getSubscription())?.unsubscribe();
}

export interface KeepOptions {
  readonly api: Api;
  readonly store: Store;
  /** Aborts at sign-out, and when the token is replaced. */
  readonly ended: AbortSignal;
  /** True: the channel may have been deleted with the token that this session replaced. */
  readonly replaced: boolean;
}

/**
 * Checks and repairs the channel until `ended`: now, whenever the page connects, and after the
 * browser has made a new subscription.
 */
export function keepPush({ api, store, ended, replaced }: KeepOptions): void {
  let checked = Number.NEGATIVE_INFINITY;
  const check = () => {
    if (store.connection() !== "live" || elapsed() - checked < EVERY) return;
    checked = elapsed();
    // One tab at a time: another one may already have repaired it.
    void navigator.locks
      .request(scoped("push"), { signal: ended }, () => mend(api, replaced))
      // Try again at the next connection.
      .catch(() => {
        checked = Number.NEGATIVE_INFINITY;
      });
  };
  const stopStore = store.subscribe(check);
  const stopMessages = onWorkerMessage(({ type }) => {
    if (type !== "subscribed") return;
    checked = Number.NEGATIVE_INFINITY;
    check();
  });
  ended.addEventListener("abort", () => {
    stopStore();
    stopMessages();
  });
  check();
}

/** Makes a new channel if the server has none that works. */
async function mend(api: Api, replaced: boolean): Promise<void> {
  const own = pushChannel();
  if (!own || Notification.permission !== "granted") return;
  const key = await serverKey(api);
  if (!key) return;
  const { channels } = await api.channels.list.query({});
  const channel = channels.find(({ id }) => id === own.id);
  // The person deleted it on another device.
  if (!channel && !replaced) return forget();
  const gone = channel?.state === "gone";
  const subscription = await subscriptionFor(key, gone);
  const settings = channel ? settingsOf(channel) : own.settings;
  if (channel && !gone && subscription.endpoint === own.endpoint) {
    return keepPushChannel({ ...own, settings });
  }
  await post(api, subscription, settings);
  // The server itself deletes channels that are gone.
  if (channel && !gone) await api.channels.delete.mutate({ channel_id: channel.id });
}

const settingsOf = ({ label, sends, min_priority, quiet_hours }: Channel): PushSettings => ({
  ...{ label, sends, min_priority, quiet_hours },
});

async function post(
  api: Api,
  subscription: PushSubscription,
  settings: PushSettings,
): Promise<void> {
  const { endpoint, keys = {} } = subscription.toJSON();
  const { channel } = await api.channels.create.mutate({
    type: "web_push",
    label: browserLabel(),
    ...settings,
    subscription: {
      endpoint: endpoint ?? subscription.endpoint,
      keys: { p256dh: keys.p256dh ?? "", auth: keys.auth ?? "" },
    },
  });
  keepPushChannel({
    id: channel.id,
    endpoint: subscription.endpoint,
    settings: settingsOf(channel),
  });
}

/**
 * The browser's subscription for this key; `renew`: a new one even if it has one. Throws
 * {@link NotSubscribed}.
 */
async function subscriptionFor(
  key: Uint8Array<ArrayBuffer>,
  renew = false,
): Promise<PushSubscription> {
  const { pushManager } = await readyWorker();
  const known = await pushManager.getSubscription();
  if (known && !renew && hasKey(known, key)) return known;
  // A browser has only one subscription, and refuses to subscribe with another key.
  await known?.unsubscribe();
  try {
    const options = { userVisibleOnly: true, applicationServerKey: key };
    // A browser may try for minutes to reach its push service.
    const late = new Promise<never>((_, reject) =>
      after(PATIENCE, () => reject(new Error("late"))),
    );
    return await Promise.race([pushManager.subscribe(options), late]);
  } catch (error) {
    throw new NotSubscribed("the browser did not subscribe", { cause: error });
  }
}

function hasKey({ options }: PushSubscription, key: Uint8Array): boolean {
  const used = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer());
  return used.length === key.length && used.every((byte, i) => byte === key[i]);
}
