/** Examples of the OpenAPI document, which tell one story (§5.12.2). */

import { z } from "zod";
import { Authorization, Grant } from "../../model/authorization.ts";
import { Channel, ChannelLink } from "../../model/channel.ts";
import { Delivery, type Reach } from "../../model/delivery.ts";
import { Device } from "../../model/device.ts";
import { Agent, type Item } from "../../model/item.ts";
import { Key } from "../../model/key.ts";
import { Question } from "../../model/question.ts";
import type { ActivityEntry } from "../../model/request-log.ts";
import { newTask, Task } from "../../model/task.ts";
import { ACCOUNT_EXAMPLES, ACCOUNT_RESOURCES, type Example } from "./examples-account.ts";

const key: Key = {
  id: "key_01a1fdad81f3720b932cf66f43445615",
  label: "Release agent",
  prefix: "mck_qr8N",
  last4: "pUJ0",
  created_at: 1795257369.075,
  last_used_at: 1795257411.5,
  last_client: null,
  last_host: "build-7",
  counts: { todo: 0, in_progress: 1, done: 4, cancelled: 0 },
};

const grant: Grant = {
  id: "grt_01a1fdae1c3b7d04a5e07f3c92b6d8e1",
  client_name: "Claude Code",
  client_host: null,
  created_at: 1795257397.563,
  last_used_at: 1795257412.006,
  expires_at: 1800441397.563,
};
const sealed_request = "eyJjbGllbnQiOiJ0U1gifQ.q1W2e3R4t5Y6u7I8o9P0aSdFgHjKlZxCvBnM1234567";
const authorization: Authorization = {
  client_name: "Claude Code",
  client_host: null,
  document_host: null,
  suggested_key_id: null,
  requested_at: 1795257390.2,
  expires_at: 1795257990.2,
  approval: null,
};

const device: Device = {
  id: "dev_0b8e1f3a-52c7-4d7e-9a61-3f0c6f1d2b4e",
  platform: "ios",
  model: "iPhone18,1",
  os_version: "27.1",
  app_version: "1.4.0",
  apns_environment: "production",
  apns_token: "80d3c1f2a4b5968778695a4b3c2d1e0f80d3c1f2a4b5968778695a4b3c2d1e0f",
  push_to_start_token: null,
  widget_push_token: null,
  updated_at: 1795257280.25,
};
const { id: _, updated_at: __, ...registration } = device;

const channel: Channel = {
  id: "chn_01a1fdad7c40723e8f5d9b0c6a1e2f34",
  type: "webhook",
  label: "Build server",
  sends: ["questions", "tasks"],
  min_priority: "low",
  quiet_hours: null,
  state: "ok",
  last_sent_at: 1795257405.52,
  last_error: null,
  missed: 0,
  created_at: 1795257350.4,
  origin: "https://ci.example.com",
  hint: "elay",
  replies: false,
  reached_at: null,
};

const { state, last_sent_at, last_error, missed, created_at, origin, hint } = channel;

const link: ChannelLink = {
  id: "lnk_01a1fdad7c40723e8f5d9b0c6a1e2f34",
  link: "https://t.me/example_relay_bot?start=2mS0bWvT5uQkJr8Zc1xN7aYdLpEoGhFiB3nKtUq6s4w",
  expires_at: 1795257950.4,
  from: { name: "Anna Example", username: "anna" },
};

const delivery: Delivery = {
  id: "dlv_01a1fdad7d9a74c2b1e83f5a60d7c921",
  target: { type: channel.type, id: channel.id, label: channel.label },
  status: "sent",
  reason: null,
  queued_at: 1795257360.2,
  sent_at: 1795257360.41,
  shown_at: null,
  opened_at: null,
};

const task: Task = {
  ...newTask({
    id: "tsk_01a1fdad82cd71358c97275fc86d05b4",
    key_id: key.id,
    title: "Release 2.4",
    description: "Build, test and publish version 2.4.",
    status: "in_progress",
    priority: "high",
    source: "agent",
    host: "build-7",
    now: 1795257369.293,
  }),
  progress: 40,
  status_note: "Running the tests",
  updated_at: 1795257402.118,
};

const question: Question = {
  id: "qst_01a1fdad82f37026a1102f67e67d0c2a",
  key_id: key.id,
  task_id: task.id,
  prompt: "The tests pass. Publish now?",
  kind: "confirm",
  options: ["Yes", "No"],
  status: "pending",
  answer: null,
  created_at: 1795257405.331,
  answered_at: null,
  expires_at: 1795261005.331,
};

const answered: Question = {
  ...question,
  status: "answered",
  answer: "Yes",
  answered_at: 1795257411.2,
  note: "After lunch is fine too.",
};

const question_delivery: Delivery = {
  id: "dlv_01a1fdad82f37c04b7a93e15d6084f2a",
  target: { type: "apns", id: device.id, label: "iPhone" },
  status: "sent",
  reason: null,
  queued_at: question.created_at,
  sent_at: 1795257405.702,
  shown_at: 1795257409.118,
  opened_at: null,
};
const reach: Reach = {
  state: "shown",
  at: 1795257409.118,
  reachable: true,
  typical_answer_seconds: 94,
};

const item: Item = {
  id: "itm_01a1fdad9e107c2f8a64b1f0d7a35c92",
  key_id: key.id,
  type: "question.answered",
  from: { kind: "account" },
  task_id: task.id,
  question_id: question.id,
  task,
  changes: [],
  question: answered,
  text: null,
  created_at: 1795257411.2,
  read_at: null,
};

const message: Item = {
  ...item,
  id: "itm_01a1fdadc5f27a40b3d08e5a6f1b2c7d",
  type: "message",
  task_id: null,
  question_id: null,
  task: null,
  question: null,
  text: "Wait with the announcement until Monday.",
  created_at: 1795257420.75,
};

const agent: Agent = {
  key_id: key.id,
  label: key.label,
  self: true,
  last_used_at: key.last_used_at,
};
const call = { surface: "rest", client: null, host: "build-7", count: 1 } as const;
const entries: ActivityEntry[] = [
  {
    id: "act_01a1fdad82e47d1a90b5d2f0c1c6e377",
    at: 1795257405.331,
    ...call,
    action: "POST /v1/questions",
    status: "ok",
    code: null,
    message: null,
    duration_ms: 5869,
    last_at: 1795257405.331,
  },
  {
    id: "act_01a1fdad82d0741c8e6f03b1a5d9c214",
    at: 1795257390.047,
    ...call,
    action: "PATCH /v1/tasks/{task_id}",
    status: "error",
    code: "invalid_fields",
    message: "Invalid fields: progress.",
    duration_ms: 1,
    count: 12,
    last_at: 1795257401.902,
  },
];

const RESOURCES = new Map<z.ZodType, unknown>([
  ...ACCOUNT_RESOURCES,
  [Agent, agent],
  [Authorization, authorization],
  [Channel, channel],
  [ChannelLink, link],
  [Delivery, delivery],
  [Device, device],
  [Grant, grant],
  [Key, key],
  [Question, question],
  [Task, task],
]);

/** An example of a result that is a resource or a list of them; undefined for any other result. */
export function exampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodNullable) return null;
  if (schema instanceof z.ZodArray) {
    const one = exampleOf(schema.element as z.ZodType);
    return one && [one];
  }
  if (RESOURCES.has(schema) || !(schema instanceof z.ZodObject)) return RESOURCES.get(schema);
  const fields = Object.entries<z.ZodType>(schema.shape).map(([name, field]) => [
    name,
    exampleOf(field),
  ]);
  return fields.some(([, one]) => one === undefined) ? undefined : Object.fromEntries(fields);
}

/** Method and path -> examples of the request body, and of a response that {@link exampleOf} cannot give. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  ...ACCOUNT_EXAMPLES,
  "PUT /v1/devices/{device_id}": { request: registration },
  "POST /v1/channels": {
    request: {
      type: channel.type,
      label: channel.label,
      url: "https://ci.example.com/hooks/relay",
    },
    response: {
      channel: { ...channel, last_sent_at: null },
      secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDpZk3Vy1mQ0k=",
    },
  },
  "POST /v1/channels/check": { request: { type: "telegram" }, response: { problem: null } },
  "POST /v1/channels/links": {
    request: { type: "telegram", label: "My phone" },
    response: { ...link, from: null },
  },
  "POST /v1/channels/links/{link_id}/confirm": {
    response: {
      channel: {
        ...channel,
        type: "telegram",
        label: "My phone",
        last_sent_at: null,
        origin: "https://t.me",
        hint: "_bot",
      },
    },
  },
  "GET /v1/web-push/key": {
    response: {
      public_key:
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
    },
  },
  "POST /v1/channels/{channel_id}/test": { response: { ...delivery, answer_by: null } },
  "POST /v1/channels/{channel_id}/reached": {
    request: { code: "AAAAAAAAAAAAAZ9xF2QK_uJk0d8mPq7w3XyR5sTvLb1Z" },
    response: { reached_at: 1795257361.61 },
  },
  "PATCH /v1/channels/{channel_id}": {
    request: { quiet_hours: { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" } },
    response: {
      ...channel,
      quiet_hours: { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" },
    },
  },
  "POST /v1/keys": {
    request: { label: key.label },
    response: { key, secret: "mck_qr8NzVv2Nmr9EzVZX5x_1v2BAb-OK50iRQ2Tva2pUJ0" },
  },
  "PATCH /v1/keys/{key_id}": { request: { label: key.label } },
  "POST /v1/keys/{key_id}/secret": {
    response: { key, secret: "mck_qr8NzVv2Nmr9EzVZX5x_1v2BAb-OK50iRQ2Tva2pUJ0" },
  },
  "PUT /v1/keys/{key_id}/webhook": {
    request: { url: `${origin}/relay` },
    response: {
      url: `${origin}/relay`,
      secret: "whsec_Yk3WmRz0tVb8qPz5nXc2uLd7sAe1gHf9jKo4iTl6wBM=",
    },
  },
  "GET /v1/keys/{key_id}/webhook": {
    response: { state, origin, hint, last_sent_at, last_error, missed, created_at },
  },
  "POST /v1/oauth/request": { request: { request: sealed_request } },
  "POST /v1/oauth/approve": {
    request: { request: sealed_request, label: key.label },
    response: {
      key,
      redirect_to:
        "http://localhost:41207/callback?code=mcc_3kTq8ZxWn0RbVd5LhYpJ7uMsCgEo2fAi9QtXw1KrN6B&state=x7Qp&iss=http%3A%2F%2Flocalhost%3A3000",
    },
  },
  "POST /v1/oauth/deny": {
    request: { request: sealed_request },
    response: {
      redirect_to:
        "http://localhost:41207/callback?error=access_denied&state=x7Qp&iss=http%3A%2F%2Flocalhost%3A3000",
    },
  },
  "POST /v1/oauth/approvals": {
    request: { request: sealed_request },
    response: {
      code: "7K2M-9XQT",
      url: "http://192.168.1.20:3000/#/approve/7K2M-9XQT",
      no_url_reason: null,
      secret: "Jv0pX3rZs8QmT6wLkY1nBcHdGf5aEi9oUu2eRx7tVzM",
      expires_at: 1795257990.2,
    },
  },
  "POST /v1/oauth/approvals/wait": {
    request: { secret: "Jv0pX3rZs8QmT6wLkY1nBcHdGf5aEi9oUu2eRx7tVzM" },
    response: { status: "waiting", redirect_to: null },
  },
  "GET /v1/keys/{key_id}/activity": { response: { items: entries, next_cursor: null } },
  "POST /v1/tasks": {
    request: { title: task.title, status: "in_progress", priority: "high" },
    response: { ...task, progress: null, status_note: null, updated_at: task.created_at },
  },
  "PATCH /v1/tasks/{task_id}": {
    request: { progress: 40, status_note: "Running the tests" },
  },
  "GET /v1/tasks/{task_id}/history": {
    response: {
      items: [
        {
          at: task.updated_at,
          by: "agent",
          status: "in_progress",
          progress: task.progress,
          status_note: task.status_note,
        },
        {
          at: task.created_at,
          by: "agent",
          status: "in_progress",
          progress: null,
          status_note: null,
        },
      ],
      next_cursor: null,
    },
  },
  "PUT /v1/tasks/{task_id}/live-activity": {
    request: { device_id: device.id, push_token: "80a5c1f2a4b5968778695a4b3c2d1e0f" },
  },
  "DELETE /v1/tasks/{task_id}/live-activity": { request: { device_id: device.id } },
  "POST /v1/questions": {
    request: { prompt: question.prompt, task_id: task.id },
  },
  "GET /v1/questions/{question_id}": { response: answered },
  "POST /v1/questions/{question_id}/answer": {
    request: { answer: "Yes", note: answered.note },
    response: answered,
  },
  "POST /v1/questions/{question_id}/reminder": {
    request: { minutes: 10 },
    response: { ...question, remind_at: question.created_at + 610 },
  },
  "GET /v1/questions/{question_id}/deliveries": {
    response: { deliveries: [question_delivery], reach },
  },
  "POST /v1/questions/{question_id}/receipts": {
    request: { event: "shown", device_id: device.id },
  },
  "GET /v1/inbox": { response: { items: [item], unread: 1 } },
  "GET /v1/keys/{key_id}/inbox": {
    response: { items: [message, item], unread: 2, unreceived: 1, next_cursor: null },
  },
  "POST /v1/messages": {
    request: { key_id: message.key_id, text: message.text },
    response: message,
  },
};
