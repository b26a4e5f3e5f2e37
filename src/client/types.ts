/** What requests take and give beyond the resources themselves (docs/interface.md §5). */

import type { Account } from "../model/account.ts";
import type { ActivityEntry } from "../model/activity.ts";
import type { Channel } from "../model/channel.ts";
import type { Delivery, Reach, ReceiptEvent } from "../model/delivery.ts";
import type { Item } from "../model/item.ts";
import type { Key } from "../model/key.ts";
import type { Question, QuestionInput } from "../model/question.ts";
import type { Task, TaskInput } from "../model/task.ts";

/** A part of a list; pass `next_cursor` as `cursor` for the next one, until it is null (§1.5.2). */
interface Page {
  readonly next_cursor: string | null;
}

interface PageQuery {
  /** Records at most; a page may be shorter (§1.5.3). */
  readonly limit?: number;
  readonly cursor?: string;
}

/** `token` is the one that the client made, or it is not returned again (§5.2.1). */
export interface NewAccount {
  readonly account: Account;
  readonly token: string;
}

/** `{key, secret}`: the secret is not returned again (§5.4.2). */
export interface NewKey {
  readonly key: Key;
  readonly secret: string;
}

/** `code` in either form; `token` is made by the client, `label` names the device (§5.14.2). */
export interface PairingClaim {
  readonly code: string;
  readonly token: string;
  readonly label?: string;
}

/** `{channel, secret}`: the secret of a webhook is not returned again (§19.2.2). */
export interface NewChannel {
  readonly channel: Channel;
  readonly secret?: string;
}

/** `key_id` or `label` of a new key, which is the client's name if both are absent (§5.15.2). */
export interface AuthorizationApproval {
  readonly request: string;
  readonly key_id?: string;
  readonly label?: string;
}

/** `redirect_to` is where this browser goes on; null when another device does (§5.15.2). */
export interface AuthorizationApproved {
  readonly key: Key;
  readonly redirect_to: string | null;
}

/** `challenge` is base64url, `expires_at` epoch seconds (§5.2.6). */
export interface Challenge {
  readonly challenge: string;
  readonly expires_at: number;
}

export interface TaskQuery extends PageQuery {
  /** For an account only. */
  readonly key_id?: string;
  readonly status?: readonly Task["status"][];
  readonly priority?: readonly Task["priority"][];
}

export interface TaskPage extends Page {
  readonly tasks: readonly Task[];
}

/** `key_id` is required of an account and refused from a key (§5.5.3). */
export interface NewTask extends TaskInput {
  readonly key_id?: string;
}

export interface QuestionQuery extends PageQuery {
  /** `pending` when absent. */
  readonly status?: readonly Question["status"][];
  /** For an account only. */
  readonly key_id?: string;
  readonly task_id?: string;
}

export interface QuestionPage extends Page {
  readonly questions: readonly Question[];
}

export interface QuestionDeliveries {
  /** Empty for an API key. */
  readonly deliveries: readonly Delivery[];
  readonly reach: Reach;
}

export interface Receipt {
  readonly event: ReceiptEvent;
  /** The device on which it was; a page when absent. */
  readonly device_id?: string;
}

export interface Ask extends QuestionInput {
  /** Seconds to wait for the answer, 0 to 50; 0 when absent (§6.1). */
  readonly wait?: number;
}

/** `note`: what the person adds to the answer (§5.7.4). */
export interface Answer {
  readonly answer: string;
  readonly note?: string;
}

export interface InboxQuery {
  /** Seconds to wait for the first unread item, 0 to 50; 0 when absent (§6.1). */
  readonly wait?: number;
  /** 1 to 100; 50 when absent. */
  readonly limit?: number;
  /** True: the items stay unread. */
  readonly peek?: boolean;
  /** Id of an item: it and all older items are marked as read before the items are returned. */
  readonly ack?: string;
}

/** `unread`: items that are unread after the request (§5.9.2). */
export interface UnreadItems {
  readonly items: readonly Item[];
  readonly unread: number;
}

export type ItemPage = UnreadItems & Page;

export interface ActivityPage extends Page {
  readonly items: readonly ActivityEntry[];
}

export type { PageQuery };

/** `status` is `ok` or `unavailable` (§5.12.1). */
export interface Health {
  readonly status: string;
  readonly version: string;
  readonly store: string;
  /** What the operator should know: `other_store`, `clock_differs`; left out if there is nothing. Codes may be added. */
  readonly problems?: readonly string[];
}
