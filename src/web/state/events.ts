/** Reads the account's event stream over one connection (docs/interface.md 7). */

import { readEvents } from "../../client/events.ts";
import { connectionOf } from "../../client/send.ts";
import type { StreamEvent } from "../../model/event.ts";
import { noteServerTime } from "../clock.ts";
import { here } from "./here.ts";
import { reach } from "./outside.ts";

/** Events until the stream ends; throws a `RelayError` if it is refused or lost. */
export function eventsOf(token: string, signal: AbortSignal): AsyncGenerator<StreamEvent, void> {
  const connection = connectionOf({ url: here("."), credential: token, fetch: reach });
  const onResponse = ({ headers }: Response) => noteServerTime(headers.get("date"));
  return readEvents(connection, { signal, onResponse });
}
