/** Display names of statuses and priorities. */

import type { Priority, Status } from "../state/api.ts";

export const STATUS_NAMES: Readonly<Record<Status, string>> = {
  in_progress: "In progress",
  todo: "To do",
  done: "Done",
  cancelled: "Cancelled",
};

export const PRIORITY_NAMES: Readonly<Record<Priority, string>> = {
  urgent: "Urgent",
  high: "High",
  medium: "Medium",
  low: "Low",
};
