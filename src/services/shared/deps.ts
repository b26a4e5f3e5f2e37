/** The dependencies of the services, passed in by the composition root. */

import type { Statement, Store } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import { failNotFound } from "../../errors.ts";
import type { Waiters } from "../../events/waiters.ts";
import type { Ids } from "../../ids.ts";
import type { AccountCaller, Caller } from "../../model/caller.ts";
import type { Signer } from "../../signer.ts";
import type { Storage } from "../storage.ts";
import type { Commit } from "./commit.ts";
import type { NotificationPlans } from "./notification-plans.ts";

/** Seconds by which the clocks of processes may differ, with a margin. */
export const CLOCKS_DIFFER = 60;

export interface ServiceDeps {
  readonly store: Store;
  readonly storage: Storage;
  readonly commit: Commit;
  readonly notificationPlans: NotificationPlans;
  /** For a change that planned deliveries outside of {@link Commit}. */
  readonly wakeSender: () => void;
  readonly waits: Waiters;
  readonly clock: Clock;
  /** Epoch seconds for the expiry of questions: earlier than {@link clock} for some minutes after a jump (§11.5.4). */
  readonly agreedNow: () => number;
  readonly ids: Ids;
  readonly signer: Signer;
  /** Throws `401 unauthorized` if the caller's credential has ended. */
  readonly assertLive: (caller: Caller) => Promise<void>;
  /** Throws `403 forbidden` in the trial of the caller's sign-in (§4.1.6). */
  readonly assertPastTrial: (caller: AccountCaller) => Promise<void>;
  readonly settings: {
    /** Who may create accounts: `ACCOUNT_CREATION`. */
    readonly account_creation: "open" | "first" | "off";
    /** Accounts that one address may create within an hour; 0: any number. */
    readonly accounts_per_hour: number;
    /** The content of notifications: `PUSH_CONTENT`. */
    readonly push_content: "full" | "generic";
  };
}

/** Resolves once the caller's credential is known to be valid; throws `401 unauthorized`. Awaited before any effect. */
export type Confirm = () => Promise<void>;

/** For a caller whose credential was checked before. */
export const CHECKED: Confirm = async () => {};

/**
 * Reads one row in the scope of the caller. If there is none, throws `404 not_found` for the parameter `name`, or
 * `401 unauthorized` if the credential has ended.
 */
export async function readOwn<Row>(
  { store, assertLive }: Pick<ServiceDeps, "store" | "assertLive">,
  caller: Caller,
  statement: Statement<Row>,
  name: string,
): Promise<Row> {
  const [row] = await store.read(statement);
  if (row) return row;
  await assertLive(caller);
  return failNotFound(name);
}
