/** Refuses a change whose request was followed by another one in the same packet. */

import { ClientGone } from "../errors.ts";

/**
 * Bun closes a connection as soon as it parses a request while the one before is not answered, and
 * no answer can be sent from then on. It parses a whole packet before the event loop goes on, so one
 * turn of the loop later it is known, and nothing was done yet: throws {@link ClientGone}. A request
 * that comes later, while a change is under way, still closes the connection on its answer.
 */
export async function refusePipelined(request: Request): Promise<void> {
  await new Promise<void>((next) => setImmediate(next));
  if (request.signal.aborted) throw new ClientGone();
}
