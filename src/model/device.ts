/** A device that shows the account's changes (§2.2), and the live activities on it (§5.6). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Id, Timestamp, text } from "./text.ts";

export const Platform = z.enum(["ios", "ipados", "watchos"]).meta({ id: "DevicePlatform" });
export const PushEnvironment = z.enum(["production", "sandbox"]).meta({ id: "PushEnvironment" });

/** `dev_` + lowercase UUID, made by the client (§1.4.2). */
export const DeviceId = z
  .string()
  .refine(
    (value) => /^dev_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
    "must be dev_ and a lowercase UUID",
  )
  .meta({ pattern: "^dev_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" });

const Text = text({ max: LIMITS.device_text, blank: true, min: 1 });

/** Hexadecimal text, stored lowercase (§2.2.2). */
const PushToken = z
  .string()
  .refine(
    (value) => value.length <= LIMITS.push_token && /^([0-9a-fA-F]{2})+$/.test(value),
    `must be an even number of hexadecimal digits, at most ${LIMITS.push_token}`,
  )
  .meta({ minLength: 2, maxLength: LIMITS.push_token, pattern: "^([0-9a-fA-F]{2})+$" });

const DeviceToken = PushToken.nullable();

/** Body of `PUT /v1/devices/{device_id}`. It replaces the device; a missing token becomes null. */
export const DeviceInput = z.strictObject({
  platform: Platform,
  model: Text,
  os_version: Text,
  app_version: Text,
  apns_environment: PushEnvironment,
  apns_token: DeviceToken.exactOptional(),
  push_to_start_token: DeviceToken.exactOptional(),
  widget_push_token: DeviceToken.exactOptional(),
});
export type DeviceInput = z.infer<typeof DeviceInput>;

export const Device = z
  .object({
    id: z.string(),
    platform: Platform,
    model: z.string(),
    os_version: z.string(),
    app_version: z.string(),
    apns_environment: PushEnvironment,
    apns_token: z.string().nullable(),
    push_to_start_token: z.string().nullable(),
    widget_push_token: z.string().nullable(),
    updated_at: Timestamp,
  })
  .meta({ id: "Device" });
export type Device = z.infer<typeof Device>;

/** The device as stored: tokens in lower case, or null (§5.3.2(2)). */
export function toDevice(id: string, input: DeviceInput, updated_at: number): Device {
  const token = (value: string | null | undefined) => value?.toLowerCase() ?? null;
  return {
    ...input,
    id,
    apns_token: token(input.apns_token),
    push_to_start_token: token(input.push_to_start_token),
    widget_push_token: token(input.widget_push_token),
    updated_at,
  };
}

/** The device without its push tokens, for a caller that may not see them (§4.1.6). */
export const withoutTokens = (device: Device): Device => ({
  ...device,
  apns_token: null,
  push_to_start_token: null,
  widget_push_token: null,
});

/** The lane of the device's tokens. */
export const laneOfDevice = ({ apns_environment }: Device): string => apns_environment;

/** Identifies the registration of a live activity. */
export const LiveActivityName = z
  .strictObject({ task_id: Id, device_id: Id })
  .meta({ id: "LiveActivityRemoval" });
export type LiveActivityName = z.infer<typeof LiveActivityName>;

/** The token is stored lowercase. */
export const LiveActivityInput = LiveActivityName.extend({ push_token: PushToken }).meta({
  id: "LiveActivityRegistration",
});
export type LiveActivityInput = z.infer<typeof LiveActivityInput>;
