/** The requests of `bench:stores` and `bench:compare`, prepared on one server before it is measured. */

import { requestOf } from "./load.ts";
import { post, times } from "./process.ts";

export const KINDS = ["creates", "reads", "lists", "patch-one", "patch-many"] as const;
export type Kind = (typeof KINDS)[number];

/** What each connection sends in turn, and the status of every response. */
export type Work = Readonly<
  Record<Kind, { readonly requests: Uint8Array[][]; readonly status: number }>
>;

export const CONNECTIONS = 64;
/** Tasks of each key that a connection reads in turn, and the length of a list page. */
export const TASKS = 50;
/** Tasks over which the changes are spread. */
const SPREAD = 200;
/** Concurrent preparing requests. */
const AT_ONCE = 64;

export const LIST = `/v1/tasks?limit=${TASKS}`;

export const TASK = {
  title: "Release version 2",
  description: "Build, test and publish the packages.",
};

interface Target {
  /** For each connection, its credential and the tasks that it reads. */
  readonly keys: readonly { readonly credential: string; readonly ids: readonly string[] }[];
  readonly list: (index: number) => string;
  /** The tasks that are changed, all of one key. */
  readonly changed: { readonly credential: string; readonly ids: readonly string[] };
}

/** Runs `make` for each number below `n`, a few at a time. */
export async function each<T>(n: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let from = 0; from < n; from += AT_ONCE) {
    const some = times(Math.min(AT_ONCE, n - from), (i) => make(from + i));
    made.push(...(await Promise.all(some)));
  }
  return made;
}

/** Creates by these keys, and reads of their tasks; each key has a connection. */
export function ownWork(keys: Target["keys"]) {
  const body = JSON.stringify(TASK);
  return {
    creates: {
      status: 201,
      requests: keys.map(({ credential }) => [requestOf("POST /v1/tasks", { credential, body })]),
    },
    reads: {
      status: 200,
      requests: keys.map(({ credential, ids }) =>
        ids.map((id) => requestOf(`GET /v1/tasks/${id}`, { credential })),
      ),
    },
  };
}

function workOf({ keys, list, changed }: Target): Work {
  const { credential, ids } = changed;
  // No note equals the previous one, whoever wrote it: setting the same value is not a change.
  const patch = (id: string, connection: number, turn: number) => {
    const note = JSON.stringify({ status_note: `Step ${turn} of agent ${connection}` });
    return requestOf(`PATCH /v1/tasks/${id}`, { credential, body: note });
  };
  const at = (turn: number, connection: number) => ids[(turn * 7 + connection * 31) % SPREAD]!;
  return {
    ...ownWork(keys),
    lists: {
      status: 200,
      requests: keys.map(({ credential }, i) => [requestOf(`GET ${list(i)}`, { credential })]),
    },
    "patch-one": {
      status: 200,
      requests: times(CONNECTIONS, (i) => times(20, (turn) => patch(ids[0]!, i, turn))),
    },
    "patch-many": {
      status: 200,
      requests: times(CONNECTIONS, (i) => times(SPREAD, (turn) => patch(at(turn, i), i, turn))),
    },
  };
}

/** Prepares the bare server: without credentials, and with numbered keys. */
export async function createBareWork(port: number): Promise<Work> {
  const made = await each(CONNECTIONS * TASKS, () => post<{ id: string }>(port, "/v1/tasks", TASK));
  const ids = made.map(({ id }) => id);
  return workOf({
    keys: times(CONNECTIONS, (i) => ({
      credential: "",
      ids: ids.slice(i * TASKS, (i + 1) * TASKS),
    })),
    list: (index) => `/v1/tasks?limit=${TASKS}&key=${index}`,
    changed: { credential: "", ids: ids.slice(0, SPREAD) },
  });
}

/** Creates an account; returns its token. */
export const createAccount = async (port: number) =>
  (await post<{ token: string }>(port, "/v1/accounts", {})).token;

/** Creates a key of an account, with some tasks. */
export async function createKey(port: number, token: string, tasks: number) {
  const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "Bench" }, token);
  const made = await each(tasks, () => post<{ id: string }>(port, "/v1/tasks", TASK, secret));
  return { credential: secret, ids: made.map(({ id }) => id) };
}

/** Prepares Relay through one of its processes: a key for each connection, and one for changes. */
export async function createWork(port: number): Promise<Work> {
  const accounts = await each(2, () => createAccount(port));
  return workOf({
    keys: await each(CONNECTIONS, () => createKey(port, accounts[0]!, TASKS)),
    list: () => LIST,
    changed: await createKey(port, accounts[1]!, SPREAD),
  });
}
