/** Decides whether the configuration permits Web Push (§19.6.1). */

import type { Config } from "../../../config.ts";
import { isLoopback } from "../../../loopback.ts";

export type Settings =
  | {
      /** How push services can contact the operator. */
      readonly subject: string;
      /** `WEB_PUSH_HOSTS`. */
      readonly hosts: readonly string[];
      readonly off?: never;
    }
  /** Why it is off. */
  | { readonly off: string };

type Variables = Pick<
  Config,
  "HOST" | "PUBLIC_URL" | "TLS_CERT_FILE" | "VAPID_SUBJECT" | "WEB_PUSH_HOSTS"
>;

/** The settings of Web Push, or the reason why the configuration turns it off. */
export function settingsOf(config: Variables): Settings {
  const { HOST, PUBLIC_URL, TLS_CERT_FILE, VAPID_SUBJECT, WEB_PUSH_HOSTS = [] } = config;
  const scheme = TLS_CERT_FILE === undefined ? "http" : "https";
  const host = HOST.includes(":") ? `[${HOST}]` : HOST;
  const page = URL.parse(PUBLIC_URL ?? `${scheme}://${host}`);
  // Browsers run service workers only at https or loopback addresses. Without `PUBLIC_URL`, only a
  // loopback address is certain.
  const secure = PUBLIC_URL !== undefined && page?.protocol === "https:";
  if (!page || !(secure || isLoopback(page.hostname))) {
    return { off: "PUBLIC_URL is neither https nor loopback" };
  }
  const subject = VAPID_SUBJECT ?? (secure ? page.origin : undefined);
  if (subject === undefined) return { off: "VAPID_SUBJECT is not set" };
  return { subject, hosts: WEB_PUSH_HOSTS };
}
