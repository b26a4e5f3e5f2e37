/** What the document must say of each route, from the interface and not from the code. */

export interface Operation {
  readonly success: 200 | 201 | 204;
  /** Status where what is asked for was there already. */
  readonly existing?: 200;
  readonly access: "none" | "account" | "key" | "any";
  /** Whether a body must be there; absent when the route takes none. */
  readonly body?: "required" | "optional";
  readonly query?: readonly string[];
  /** True: takes an `Idempotency-Key` (docs/interface.md 8). */
  readonly accepts_idempotency_key?: boolean;
  /** Statuses beyond those of every route. */
  readonly errors?: readonly number[];
}

/** docs/interface.md 5.1.1. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "POST /v1/accounts": { success: 201, access: "none", body: "optional", errors: [403] },
  "POST /v1/attest/challenge": { success: 200, access: "none", body: "optional" },
  "GET /v1/account": { success: 200, access: "account" },
  "PATCH /v1/account": { success: 200, access: "account", body: "required" },
  "DELETE /v1/account": { success: 204, access: "account" },
  "POST /v1/account/token": { success: 200, access: "account", body: "required" },
  "GET /v1/sessions": { success: 200, access: "account" },
  "PATCH /v1/sessions/{session_id}": {
    success: 200,
    access: "account",
    body: "required",
    errors: [404],
  },
  "DELETE /v1/sessions/{session_id}": {
    success: 204,
    access: "account",
    query: ["last"],
    errors: [404, 409],
  },
  "POST /v1/sessions/{session_id}/confirm": {
    success: 200,
    access: "account",
    body: "optional",
    errors: [404],
  },
  "POST /v1/pairings": { success: 201, access: "account", body: "required" },
  "POST /v1/pairings/lookup": {
    success: 200,
    access: "none",
    body: "required",
    errors: [404],
  },
  "POST /v1/pairings/claim": {
    success: 201,
    access: "none",
    body: "required",
    errors: [404, 409],
  },
  "GET /v1/devices": { success: 200, access: "account" },
  "PUT /v1/devices/{device_id}": { success: 200, access: "account", body: "required" },
  "DELETE /v1/devices/{device_id}": { success: 204, access: "account", errors: [404] },
  "GET /v1/channels": { success: 200, access: "account" },
  "GET /v1/web-push/key": { success: 200, access: "account" },
  "POST /v1/channels": { success: 201, access: "account", body: "required", errors: [409] },
  "PATCH /v1/channels/{channel_id}": {
    success: 200,
    access: "account",
    body: "required",
    errors: [404],
  },
  "DELETE /v1/channels/{channel_id}": { success: 204, access: "account", errors: [404] },
  "POST /v1/channels/{channel_id}/test": {
    success: 200,
    access: "account",
    body: "optional",
    errors: [404],
  },
  "GET /v1/keys": { success: 200, access: "account" },
  "POST /v1/keys": { success: 201, access: "account", body: "required", errors: [409] },
  "PATCH /v1/keys/{key_id}": { success: 200, access: "account", body: "required", errors: [404] },
  "DELETE /v1/keys/{key_id}": { success: 204, access: "account", errors: [404] },
  "POST /v1/keys/{key_id}/secret": {
    success: 200,
    access: "account",
    body: "required",
    errors: [404],
  },
  "GET /v1/keys/{key_id}/grants": { success: 200, access: "account", errors: [404] },
  "PUT /v1/keys/{key_id}/webhook": {
    success: 200,
    access: "any",
    body: "required",
    errors: [404],
  },
  "GET /v1/keys/{key_id}/webhook": { success: 200, access: "any", errors: [404] },
  "DELETE /v1/keys/{key_id}/webhook": { success: 204, access: "any", errors: [404] },
  "DELETE /v1/keys/{key_id}/grants/{grant_id}": {
    success: 204,
    access: "account",
    errors: [404],
  },
  "POST /v1/oauth/request": { success: 200, access: "account", body: "required", errors: [404] },
  "POST /v1/oauth/approve": {
    success: 200,
    access: "account",
    body: "required",
    errors: [404, 409],
  },
  "POST /v1/oauth/deny": { success: 200, access: "account", body: "required", errors: [404] },
  "POST /v1/oauth/approvals": { success: 201, access: "none", body: "required", errors: [404] },
  "POST /v1/oauth/approvals/wait": {
    success: 200,
    access: "none",
    body: "required",
    query: ["wait"],
  },
  "GET /v1/keys/{key_id}/activity": {
    success: 200,
    access: "account",
    query: ["limit", "cursor"],
    errors: [404],
  },
  "GET /v1/tasks": {
    success: 200,
    access: "any",
    query: ["key_id", "status", "priority", "limit", "cursor"],
    errors: [404],
  },
  "POST /v1/tasks": {
    success: 201,
    access: "any",
    body: "required",
    accepts_idempotency_key: true,
    errors: [404, 409],
  },
  "GET /v1/tasks/{task_id}": { success: 200, access: "any", errors: [404] },
  "PATCH /v1/tasks/{task_id}": { success: 200, access: "any", body: "required", errors: [404] },
  "DELETE /v1/tasks/{task_id}": { success: 204, access: "any", errors: [404] },
  "PUT /v1/tasks/{task_id}/live-activity": {
    success: 204,
    access: "account",
    body: "required",
    errors: [404],
  },
  "DELETE /v1/tasks/{task_id}/live-activity": {
    success: 204,
    access: "account",
    body: "required",
    errors: [404],
  },
  "GET /v1/questions": {
    success: 200,
    access: "any",
    query: ["status", "key_id", "task_id", "limit", "cursor"],
    errors: [404],
  },
  "POST /v1/questions": {
    success: 201,
    existing: 200,
    access: "key",
    body: "required",
    query: ["wait"],
    accepts_idempotency_key: true,
    errors: [404, 409, 429],
  },
  "GET /v1/questions/{question_id}": {
    success: 200,
    access: "any",
    query: ["wait"],
    errors: [404, 429],
  },
  "POST /v1/questions/{question_id}/answer": {
    success: 200,
    access: "account",
    body: "required",
    accepts_idempotency_key: true,
    errors: [404, 409],
  },
  "DELETE /v1/questions/{question_id}": { success: 204, access: "key", errors: [404, 409] },
  "GET /v1/questions/{question_id}/deliveries": { success: 200, access: "any", errors: [404] },
  "POST /v1/questions/{question_id}/receipts": {
    success: 204,
    access: "account",
    body: "required",
    errors: [404],
  },
  "GET /v1/inbox": {
    success: 200,
    access: "key",
    query: ["wait", "limit", "peek", "ack"],
    errors: [429],
  },
  "GET /v1/keys/{key_id}/inbox": {
    success: 200,
    access: "account",
    query: ["limit", "cursor"],
    errors: [404],
  },
  "POST /v1/messages": {
    success: 201,
    access: "any",
    body: "required",
    accepts_idempotency_key: true,
    errors: [404, 409],
  },
  "GET /v1/agents": { success: 200, access: "key" },
  "GET /v1/events": { success: 200, access: "account" },
};
