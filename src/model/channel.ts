/** A way to reach a person besides devices (§19). */

import { z } from "zod";
import type { FieldReasons } from "../errors.ts";
import { LIMITS, OUTBOUND } from "../limits.ts";
import { TaskPriority } from "./task.ts";
import { isStorable, Label, Timestamp, text, UNSTORABLE } from "./text.ts";

export const ChannelType = z
  .enum(["ntfy", "web_push", "webhook", "telegram"])
  .meta({ id: "ChannelType" });

export const ChannelSubject = z.enum(["questions", "tasks"]).meta({ id: "ChannelSubject" });

export const ChannelState = z.enum(["ok", "failing", "gone"]).meta({ id: "ChannelState" });

export const ChannelError = z
  .object({
    code: z.string().meta({ description: "`status_<number>`, or a fault of the connection" }),
    at: Timestamp,
  })
  .meta({ id: "ChannelError" });
export type ChannelError = z.infer<typeof ChannelError>;

/** `src/outbound` decides whether Relay may call it. */
export const ChannelUrl = z
  .string()
  .refine(isStorable, UNSTORABLE)
  .refine((value) => URL.canParse(value), "must be a URL such as https://example.com/hook")
  .meta({ maxLength: OUTBOUND.url_characters });

const Sends = z
  .array(ChannelSubject)
  .min(1)
  .max(2)
  .refine((given) => new Set(given).size === given.length, "must all be different");
export type Sends = z.infer<typeof Sends>;

/** A time of day, 24 hours. */
const WallTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "must be a time such as 22:00");

/** True for a name in the IANA time zone database of this process; an offset is not a name. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const TimeZone = z
  .string()
  .max(LIMITS.time_zone)
  .refine(isTimeZone, "must be a time zone such as Europe/Berlin");

/** By the wall clock of the time zone, without the minute `to` (§19.1.3). */
const QuietHoursInput = z
  .strictObject({ from: WallTime, to: WallTime, time_zone: TimeZone })
  .refine(({ from, to }) => from !== to, "from and to must differ")
  .meta({ id: "QuietHoursSetting" });

const QuietHours = z
  .object({ from: z.string(), to: z.string(), time_zone: z.string() })
  .meta({ id: "QuietHours" });
export type QuietHours = z.infer<typeof QuietHours>;

export const Channel = z
  .object({
    id: z.string(),
    type: ChannelType,
    label: z.string(),
    sends: z.array(ChannelSubject),
    min_priority: TaskPriority,
    quiet_hours: QuietHours.nullable(),
    state: ChannelState,
    last_sent_at: Timestamp.nullable(),
    last_error: ChannelError.nullable(),
    missed: z.int().min(0).meta({ description: "Events that were never delivered" }),
    created_at: Timestamp,
    origin: z.string().meta({ description: "Origin of the URL" }),
    hint: z.string().meta({ description: "The last 4 characters of the URL" }),
    replies: z.boolean().meta({
      description: "True if answers come back by the service, without an address of Relay",
    }),
    reached_at: Timestamp.nullable().meta({ description: "When a test was last answered" }),
  })
  .meta({ id: "Channel" });
export type Channel = z.infer<typeof Channel>;

/** What the button of a test sends (§19.2.10). Any other text is `404`, as an old code is. */
export const TestCode = text({ max: LIMITS.test_code }).meta({
  description: "From the notification of the test",
});

/** The channel itself checks endpoint and keys. */
const SubscriptionInput = z
  .strictObject({
    endpoint: z.string().refine(isStorable, UNSTORABLE),
    expirationTime: z.unknown().exactOptional(),
    keys: z
      .strictObject({ p256dh: z.string().max(200), auth: z.string().max(100) })
      .meta({ id: "PushSubscriptionKeys" }),
  })
  .meta({ id: "PushSubscription" });
export type SubscriptionInput = z.infer<typeof SubscriptionInput>;

const SETTINGS = {
  label: Label,
  sends: Sends.exactOptional().meta({ description: "Both when absent" }),
  min_priority: TaskPriority.exactOptional().meta({
    description: "Lowest priority of tasks that are sent; `low` when absent",
  }),
  quiet_hours: QuietHoursInput.nullable().exactOptional(),
};

/** Body of `POST /v1/channels`. */
export const ChannelInput = z
  .strictObject({
    type: ChannelType,
    ...SETTINGS,
    url: ChannelUrl.exactOptional().meta({
      description:
        "Of the topic for `ntfy`, or of the server, for a topic that Relay makes; of the receiver for `webhook`",
    }),
    subscription: SubscriptionInput.exactOptional().meta({
      description: "For `web_push`: what `PushSubscription.toJSON()` returns in the browser",
    }),
    token: z
      .string()
      .regex(/^[!-~]{1,200}$/, "must be an access token of at most 200 characters")
      .exactOptional()
      .meta({ maxLength: 200, description: "Access token of the topic, for `ntfy` only" }),
    buttons: z.boolean().exactOptional().meta({
      description:
        "For `ntfy` only: whether readers of the topic can answer by buttons; true by default with a `token`",
    }),
    replies: z.boolean().exactOptional().meta({
      description:
        "For `ntfy` and a topic that Relay makes only: whether answers come back by its server; true by default unless phones can reach Relay by `PUBLIC_URL`",
    }),
  })
  .meta({ id: "ChannelCreate" });
export type ChannelInput = z.infer<typeof ChannelInput>;

/** Which fields each type has and needs (§19.2.2). */
export function channelRule(_caller: unknown, raw: unknown): FieldReasons {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return {};
  const type = "type" in raw ? raw.type : undefined;
  if (LinkType.safeParse(type).success) return { type: "is added by POST /v1/channels/links" };
  const browser = type === "web_push";
  const topic = !browser && type !== "webhook";
  const other = browser ? "url" : "subscription";
  const needed = browser ? "subscription" : "url";
  // Without the URL of a topic, Relay makes one.
  const may_lack = topic && type !== undefined && !("token" in raw);
  return {
    ...(!(needed in raw) && !may_lack && { [needed]: "is required" }),
    ...(other in raw && { [other]: "is not for this type" }),
    ...("token" in raw && !topic && { token: "is for ntfy only" }),
    ...("buttons" in raw && !topic && { buttons: "is for ntfy only" }),
    ...("replies" in raw && !topic && { replies: "is for ntfy only" }),
  };
}

/** Body of `POST /v1/channels/check` (§19.2.11). */
export const ChannelCheckInput = z
  .strictObject({
    type: ChannelType,
    url: ChannelUrl.exactOptional().meta({
      description: "For `webhook` and `ntfy`, as when the channel is created",
    }),
  })
  .meta({ id: "ChannelCheck" });
export type ChannelCheckInput = z.infer<typeof ChannelCheckInput>;

/** Why a channel could not work (§19.2.11). */
export const ChannelProblem = z
  .object({
    code: z.string().meta({ description: "`own_address`, `off`, or a fault of the connection" }),
    refused: z.boolean().meta({ description: "True if the channel cannot be created" }),
    detail: z.string().meta({ description: "In words" }),
  })
  .meta({ id: "ChannelProblem" });
export type ChannelProblem = z.infer<typeof ChannelProblem>;

/** Which types have a `url` when they are checked. */
export function channelCheckRule(_caller: unknown, raw: unknown): FieldReasons {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return {};
  const type = "type" in raw ? raw.type : undefined;
  const has_url = "url" in raw;
  if (type === "webhook" && !has_url) return { url: "is required" };
  const without = type === "web_push" || type === "telegram";
  return without && has_url ? { url: "is not for this type" } : {};
}

/** Types whose channels are added by a link (§19.2.7). */
const LinkType = z.enum(["telegram"]).meta({ id: "ChannelLinkType" });

/** Body of `POST /v1/channels/links`. */
export const ChannelLinkInput = z
  .strictObject({
    type: LinkType,
    label: Label,
    token: z
      .string()
      .regex(/^[!-~]{1,200}$/, "must be a token of at most 200 characters")
      .exactOptional()
      .meta({
        maxLength: 200,
        description: "Token of the account's own bot; the bot of the server when absent",
      }),
  })
  .meta({ id: "ChannelLinkCreate" });
export type ChannelLinkInput = z.infer<typeof ChannelLinkInput>;

/** A link that adds a channel once somebody has opened it and the account confirms who that was (§19.2.7). */
export const ChannelLink = z
  .object({
    id: z.string(),
    link: z.string().meta({ description: "To be opened in the app of the service" }),
    expires_at: Timestamp,
    from: z
      .object({ name: z.string(), username: z.string().nullable() })
      .meta({ id: "ChannelLinkVisitor" })
      .nullable()
      .meta({ description: "Who opened it first; null if nobody has" }),
  })
  .meta({ id: "ChannelLink" });
export type ChannelLink = z.infer<typeof ChannelLink>;

/** Body of `PATCH /v1/channels/{channel_id}`. */
export const ChannelPatch = z.strictObject({ ...SETTINGS, label: Label.exactOptional() });
export type ChannelPatch = z.infer<typeof ChannelPatch>;
