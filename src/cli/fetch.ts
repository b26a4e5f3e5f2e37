/** How the command line reaches a server: through the proxy of the environment, unless it is near. */

import { proxyOptions } from "../loopback.ts";

/** `fetch`, but past the proxy of the environment for this machine and names without a dot. */
export const fetchServer = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { ...proxyOptions(url), ...init });
