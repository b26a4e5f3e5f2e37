/** Examples of the OpenAPI document for accounts, sign-ins, and pairing and recovery codes. */

import { Account } from "../../model/account.ts";
import { Session } from "../../model/session.ts";

const account: Account = {
  id: "acc_01a1fdac0c2b70dcad64de3c67ea9a9c",
  created_at: 1795257273.388,
  settings: { live_activities: true, nudges: true },
  storage: { bytes: 4_718_592, max_bytes: 1_000_000_000 },
};

const session: Session = {
  id: "ses_01a1fdae1c3b7d04a5e07f3c92b6d8e1",
  label: "Safari on iPhone",
  current: true,
  made_by: "pairing",
  created_at: 1795257397.563,
  last_used_at: null,
  trial_ends_at: 1795257997.563,
  address: "203.0.113.24",
};
const paired_token = "mca_9uXq2LwZr5KfTj8bVn1sYcGpHoEd3mAi6RtQ0kS4JxU";

export interface Example {
  readonly request?: unknown;
  readonly response?: unknown;
}

export const ACCOUNT_RESOURCES = [
  [Account, account],
  [Session, session],
] as const;

/** Method and path -> examples of the request and of the response body. */
export const ACCOUNT_EXAMPLES: Readonly<Record<string, Example>> = {
  "POST /v1/accounts": {
    request: { label: session.label, token: "mca_YApS_PbKYHFf-tGEpzNXyJNFxbOoaNPGLKeMpNozxgk" },
    response: { account, token: "mca_YApS_PbKYHFf-tGEpzNXyJNFxbOoaNPGLKeMpNozxgk" },
  },
  "POST /v1/attest/challenge": {
    response: {
      challenge: "pF1cS8T0nq2Zb7dLw3eXyVhJmR5uKgA9oIxNtC4sEYQ",
      expires_at: 1795257573.388,
    },
  },
  "PATCH /v1/account": {
    request: { settings: { live_activities: false } },
    response: { ...account, settings: { ...account.settings, live_activities: false } },
  },
  "POST /v1/account/token": {
    request: { token: "mca_7cNw1oRkqUu5LQ2yPzX0sV9dTgHbJmEaFiKt3WvYx8A" },
    response: { token: "mca_7cNw1oRkqUu5LQ2yPzX0sV9dTgHbJmEaFiKt3WvYx8A" },
  },
  "GET /v1/account/recovery-code": { response: { created_at: 1795257301.2 } },
  "POST /v1/account/recovery-code": {
    response: { code: "4QZD-8M2K-X7VN-1TBC-9RGW-3HSE-6YJP-0FA5", created_at: 1795257301.2 },
  },
  "POST /v1/sessions/recover": {
    request: {
      code: "4QZD-8M2K-X7VN-1TBC-9RGW-3HSE-6YJP-0FA5",
      label: session.label,
      token: paired_token,
    },
    response: {
      account,
      session: { ...session, made_by: "recovery" },
      token: paired_token,
      recovery_code: "ZK3E-W8D1-5NXA-7QPM-2VTG-R6HB-C9JS-Y04F",
    },
  },
  "PATCH /v1/sessions/{session_id}": {
    request: { label: "My phone" },
    response: { ...session, label: "My phone" },
  },
  "POST /v1/sessions/{session_id}/confirm": {
    response: { ...session, current: false, trial_ends_at: null },
  },
  "POST /v1/pairings": {
    response: {
      code: "7K2M-9XQT",
      url: "http://192.168.1.20:3000/#/pair/wM2kP0c7sRz9bVt4QxLj1A",
      no_url_reason: null,
      expires_at: 1795257690.2,
    },
  },
  "POST /v1/pairings/lookup": {
    request: { code: "7K2M-9XQT" },
    response: {
      account_id: account.id,
      account_created_at: account.created_at,
      offered_by: "Firefox on Linux",
      expires_at: 1795257690.2,
    },
  },
  "POST /v1/pairings/claim": {
    request: { code: "7K2M-9XQT", label: session.label, token: paired_token },
    response: { account, session, token: paired_token },
  },
};
