/** Display names of statuses, priorities and clients, and the colors of statuses. */

import type { Key, Priority, Status } from "../state/api.ts";
import { PRIORITIES, STATUSES } from "../state/task-order.ts";
import type { Tone } from "../ui/parts.tsx";

export const STATUS_NAMES: Readonly<Record<Status, string>> = {
  in_progress: "In progress",
  todo: "To do",
  done: "Done",
  cancelled: "Cancelled",
};

/** Colors of the badges of statuses. */
export const STATUS_TONES: Readonly<Record<Status, Tone>> = {
  todo: "plain",
  in_progress: "accent",
  done: "ok",
  cancelled: "plain",
};

export const PRIORITY_NAMES: Readonly<Record<Priority, string>> = {
  urgent: "Urgent",
  high: "High",
  medium: "Medium",
  low: "Low",
};

export const STATUS_OPTIONS = STATUSES.map((status) => [status, STATUS_NAMES[status]] as const);
export const PRIORITY_OPTIONS = PRIORITIES.map((one) => [one, PRIORITY_NAMES[one]] as const);

/** Display names of clients, by the name in their `clientInfo`. */
const CLIENT_NAMES: Readonly<Record<string, string>> = {
  "claude-code": "Claude Code",
  "codex-mcp-client": "Codex",
  "gemini-cli-mcp-client": "Gemini CLI",
};

/** Name and version of a client, such as `Claude Code 2.1.197`. */
export const clientName = ({ name, version }: NonNullable<Key["last_client"]>): string =>
  `${CLIENT_NAMES[name] ?? name} ${version}`.trim();

/** Message for a recovery code that the server does not know. */
export const NO_RECOVERY_CODE =
  "This recovery code isn't valid. It works once, and a new one replaces it.";

/** Error for a text that is not a code. */
export const NO_CODE = "must have 8 letters and digits, such as 7K2M-9XQT";
