/** Every kind of credential and resources of every owner, for the table of who may do what. */

import {
  ask,
  claim,
  client,
  createAgent,
  createPerson,
  createTask,
  DEVICE,
  type Send,
  WEBHOOK,
} from "./client.ts";

/** The owner of a live credential or resource. */
export type Owner = "first" | "second" | "stranger";

export interface Credential {
  readonly name: string;
  /** The `Authorization` header; null for none. */
  readonly header: string | null;
  /** Null if it is not valid. */
  readonly is: null | { readonly kind: "account" | "key"; readonly owner: Owner };
}

/** Owners that a resource may have: live, deleted, or none at all. */
export const TARGETS = [
  "first",
  "second",
  "stranger",
  "deleted",
  "of a deleted key",
  "of a deleted account",
  "never there",
] as const;
export type Target = (typeof TARGETS)[number];
export type Resource = "key" | "task" | "question" | "device" | "session" | "channel";

/** The account of a live owner: first and second are keys of one account. */
const accountOf = (owner: Owner) => (owner === "stranger" ? "stranger" : "account");

/**
 * Whether the credential's holder has access to the target (§5.5.1, §4.1.4). `by_account`: a key has access to
 * whatever any key of its account has.
 */
export function hasAccess({ is }: Credential, target: Target, by_account = false): boolean {
  if (!is || !isLive(target)) return false;
  return is.kind === "account" || by_account
    ? accountOf(is.owner) === accountOf(target)
    : is.owner === target;
}

const isLive = (target: Target): target is Owner =>
  target === "first" || target === "second" || target === "stranger";

export async function createHolders(url: string) {
  const account = await createPerson(url);
  const stranger = await createPerson(url);
  const gone = await createPerson(url);
  const keys = {
    first: await createAgent(url, account, "label-of-first"),
    second: await createAgent(url, account, "label-of-second"),
    stranger: await createAgent(url, stranger, "label-of-stranger"),
  };
  const gone_key = await createAgent(url, account, "label-of-deleted");
  const key_of_gone = await createAgent(url, gone, "label-of-gone");

  let made = 0;
  /** A new resource whose text says who owns it. */
  const make = async (resource: Resource, send: Send, of: string): Promise<string> => {
    const text = `${resource}-${++made}-of-${of}`;
    if (resource === "task") return (await createTask(send, { title: text, description: text })).id;
    return (await ask(send, { prompt: text, kind: "text" })).id;
  };
  const personOf = (owner: Owner) => (owner === "stranger" ? stranger : account);

  const putDevice = async (send: Send): Promise<string> => {
    const id = `dev_${crypto.randomUUID()}`;
    await send(`PUT /v1/devices/${id}`, DEVICE);
    return id;
  };

  const addSession = async (send: Send): Promise<string> => {
    const { code } = (await send("POST /v1/pairings", {})).body;
    return (await claim(url, { code })).body.session.id;
  };

  const createHook = async (send: Send, of: string): Promise<string> => {
    const label = `channel-of-${of}`;
    const { body } = await send("POST /v1/channels", { ...WEBHOOK, label });
    return body.channel.id;
  };

  const create = async (resource: Resource, target: Target): Promise<string> => {
    if (isLive(target)) {
      if (resource === "device") return putDevice(personOf(target).send);
      if (resource === "session") return addSession(personOf(target).send);
      if (resource === "channel") return createHook(personOf(target).send, target);
      if (resource !== "key") return make(resource, keys[target].send, target);
      return (await createAgent(url, personOf(target), `label-of-${target}`)).key.id;
    }
    if (target === "never there") return `${PREFIX[resource]}_${"0".repeat(32)}`;
    if (target === "of a deleted account") return dead[resource].account;
    // Resources that belong to no key.
    const without_key = ["device", "session", "channel"].includes(resource);
    if ((target === "of a deleted key" && !without_key) || resource === "question") {
      return dead[resource].key;
    }
    const id = await create(resource, "first");
    await account.send(`DELETE /v1/${resource}s/${id}`);
    return id;
  };

  const device_of_gone = await putDevice(gone.send);
  const session_of_gone = await addSession(gone.send);
  const channel_of_gone = await createHook(gone.send, "gone");

  /** Created before their owners go. */
  const dead: Record<Resource, { key: string; account: string }> = {
    key: { key: gone_key.key.id, account: key_of_gone.key.id },
    task: {
      key: await make("task", gone_key.send, "deleted"),
      account: await make("task", key_of_gone.send, "gone"),
    },
    question: {
      key: await make("question", gone_key.send, "deleted"),
      account: await make("question", key_of_gone.send, "gone"),
    },
    device: { key: device_of_gone, account: device_of_gone },
    session: { key: session_of_gone, account: session_of_gone },
    channel: { key: channel_of_gone, account: channel_of_gone },
  };
  await account.send(`DELETE /v1/keys/${gone_key.key.id}`);
  await gone.send("DELETE /v1/account");

  const pool = new Map<string, string>();
  const of = (name: string, secret: string, kind: "account" | "key", owner: Owner): Credential => ({
    name,
    header: `Bearer ${secret}`,
    is: { kind, owner },
  });
  const not = (name: string, header: string | null): Credential => ({ name, header, is: null });
  const credentials: Credential[] = [
    not("none", null),
    not("malformed", `Basic ${account.token}`),
    not("unknown account token", `Bearer mca_${"A".repeat(43)}`),
    not("unknown key", `Bearer mck_${"A".repeat(43)}`),
    not("deleted key", `Bearer ${gone_key.secret}`),
    not("key of a deleted account", `Bearer ${key_of_gone.secret}`),
    not("deleted account", `Bearer ${gone.token}`),
    of("account", account.token, "account", "first"),
    of("other account", stranger.token, "account", "stranger"),
    of("key", keys.first.secret, "key", "first"),
    of("other key of the account", keys.second.secret, "key", "second"),
    of("key of another account", keys.stranger.secret, "key", "stranger"),
  ];

  return {
    account,
    stranger,
    keys,
    credentials,

    /** An id of such a resource, the same one until it is used up. */
    async target(resource: Resource, target: Target): Promise<string> {
      const name = `${resource} ${target}`;
      const id = pool.get(name) ?? (await create(resource, target));
      pool.set(name, id);
      return id;
    },
    /** The last one was deleted or answered, so the next call creates another. */
    usedUp(resource: Resource, target: Target): void {
      pool.delete(`${resource} ${target}`);
    },

    /** A credential of the same kind and owner that may be destroyed. */
    async throwaway({ is, header }: Credential): Promise<string | null> {
      if (is?.kind !== "account") return header;
      return `Bearer ${(await createPerson(url)).token}`;
    },

    /**
     * Ids, labels, titles and prompts of the owners that the credential may not see. `by_account`: the
     * operation lets a key see the other keys of its account, and what the account deleted.
     */
    async secretsFrom(credential: Credential, by_account = false): Promise<string[]> {
      const hidden = TARGETS.filter(
        (target) =>
          !hasAccess(credential, target, by_account) &&
          target !== "never there" &&
          !(by_account && target === "deleted"),
      );
      const texts = hidden.flatMap((target) =>
        isLive(target) ? [`-of-${target}`, keys[target].key.id, keys[target].secret] : [],
      );
      const ids = [...pool].filter(([name]) =>
        hidden.some((target) => name.endsWith(` ${target}`)),
      );
      return [...texts, "-of-deleted", "-of-gone", ...ids.map(([, id]) => id)];
    },

    /** A client with this header. */
    send: ({ header }: Credential): Send =>
      client(url, header === null ? undefined : header.replace(/^Bearer /, "")),
  };
}

const PREFIX = {
  key: "key",
  task: "tsk",
  question: "qst",
  device: "dev",
  session: "ses",
  channel: "chn",
} as const;
