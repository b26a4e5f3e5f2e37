/** The configuration: one table of environment variables (§16). */

import { z } from "zod";
import { TRACES_CONFIG, withoutUnusedTraces } from "./config-traces.ts";
import {
  anyText,
  duration,
  encryptionKey,
  HOST_SIGNS,
  hostName,
  isNetwork,
  isOrigin,
  isReadable,
  list,
  number,
  publicUrlFault,
  text,
} from "./config-values.ts";
import { codeOf, LOG_LEVELS } from "./log.ts";

const apnsId = text(/^[A-Za-z0-9]{1,40}$/, "must be an id of letters and digits").optional();
const apnsUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && new URL(value).origin === value,
    "must be an https origin such as https://127.0.0.1:2197",
  )
  .refine((value) => value.startsWith("https:"), "must be an https origin")
  .optional();

/** Each variable with its schema and default; `doc` is its row in docs/configuration.md. */
export const CONFIG = {
  HOST: {
    doc: "Address to listen on",
    schema: text(/^[^\s"'/]+$/, "must be an IP address or a host name of this machine").default(
      "127.0.0.1",
    ),
  },
  PORT: {
    doc: "Port to listen on; `0` picks a free one and prints it",
    schema: number(/^\d{1,5}$/, "must be a number from 0 to 65535")
      .refine((port) => port <= 65_535, "must be a number from 0 to 65535")
      .default(3000),
  },
  PUBLIC_URL: {
    doc: "Base URL that clients use; built from `HOST` and `PORT` when unset",
    schema: z
      .string()
      .superRefine((value, context) => {
        const message = publicUrlFault(value);
        if (message !== null) context.addIssue({ code: "custom", message });
      })
      .optional(),
  },
  TLS_CERT_FILE: {
    doc: "PEM file with the certificate and its chain, to serve `https`; read at the start",
    schema: anyText,
  },
  TLS_KEY_FILE: {
    doc: "PEM file with its private key, without a passphrase",
    schema: anyText,
  },
  DATABASE_URL: {
    doc: "The store: `file:` for an embedded libSQL file; `http(s)://`, `libsql://` or `ws(s)://` for a libSQL server",
    schema: z
      .string()
      .refine(
        (value) =>
          /^file:(?!:memory:|\w+:\/\/|\/\/[^/])[^?#]+$/.test(value) ||
          (/^(https?|libsql|wss?):\/\/[^?#]+(\?tls=[01])?$/.test(value) && URL.canParse(value)),
        "must be a file:, http(s)://, libsql:// or ws(s):// URL, without a fragment or a token",
      )
      .refine(
        (value) => !/^file:.*(^\s|\s$|\p{Cc})/su.test(value) && !/^file:\s/.test(value),
        "must not have spaces or line breaks around the path, or control characters in it",
      )
      .refine(
        (value) => !/^file:(["']).*\1$/.test(value),
        "must not have quotes around the path, which are part of it",
      )
      .refine(
        (value) => !/^file:~/.test(value),
        "must not begin with ~, which only a shell replaces: write the whole path",
      )
      .default("file:data/relay.db"),
  },
  DATABASE_AUTH_TOKEN: {
    doc: "Token for the libSQL server, if it needs one",
    schema: z
      .string()
      .trim()
      // A header must be able to hold it.
      .regex(/^[\t -~\x80-\xff]+$/, "must have only characters that an HTTP header can hold")
      .optional(),
  },
  DATABASE_ENCRYPTION_KEY: {
    doc: "32 random bytes in base64 or hex: encrypts the file, and the addresses and secrets of channels in any store; nothing is encrypted when unset",
    schema: encryptionKey.optional(),
  },
  BACKUP_DIR: {
    doc: "Existing folder for automatic backups of the store; off when unset",
    schema: text(
      /^(?!~)(?![\s\S]*\p{Cc})\S(?:[\s\S]*\S)?$/u,
      "must be the path of a folder, without ~ at its beginning or spaces around it",
    ).optional(),
  },
  BACKUP_URL: {
    doc: "`http(s)://` URL of a read replica of the libSQL server at `DATABASE_URL`, which backups are read from; that server itself when unset",
    schema: text(/^https?:\/\/[^?#@\s]+$/, "must be an http(s):// URL of a libSQL server")
      .refine((value) => URL.canParse(value), "must be an http(s):// URL of a libSQL server")
      .optional(),
  },
  BACKUP_EVERY: {
    doc: "Time between two automatic backups, from `1m` to `30d`",
    schema: duration(60, 30 * 86_400, "must be a duration from 1m to 30d, such as 24h").default(
      "24h",
    ),
  },
  BACKUP_KEEP: {
    doc: "Automatic backups that are kept, the newest",
    schema: number(/^\d{1,4}$/, "must be a number of backups from 1 to 1000")
      .refine((count) => count >= 1 && count <= 1_000, "must be a number of backups from 1 to 1000")
      .default(7),
  },
  UPGRADE_WITHOUT_BACKUP: {
    doc: "A version, such as `0.3.0`: allows the upgrade of a libSQL server to it without a backup in `BACKUP_DIR`; see [Upgrades](operating/upgrades.md#upgrades)",
    schema: text(/^\d+\.\d+\.\d+$/, "must be a version such as 0.3.0").optional(),
  },
  ADMIN_TOKEN: {
    doc: "Bearer token for `/admin` and `/metrics`, at least 32 characters; both are off when unset",
    // A header must be able to hold it behind `Bearer`.
    schema: text(
      /^[!-~]{32,}$/,
      "must be at least 32 characters, without spaces, all of them ASCII",
    ).optional(),
  },
  TRUST_PROXY: {
    doc: "Number of reverse proxies in front of Relay: this many `X-Forwarded-For` entries, from the right, are trusted",
    schema: number(/^\d{1,2}$/, "must be a number of proxies from 0 to 99").default(0),
  },
  DRAIN_SECONDS: {
    doc: "Seconds after `SIGTERM` in which requests are still served while `/health` answers `503`; `5` behind a proxy (`TRUST_PROXY` above 0) when unset, otherwise `0`",
    schema: number(/^\d{1,3}$/, "must be a number of seconds from 0 to 300")
      .refine((seconds) => seconds <= 300, "must be a number of seconds from 0 to 300")
      .optional(),
  },
  CORS_ORIGINS: {
    doc: "Web origins that may call the API, separated by commas, such as `https://app.example`",
    schema: list(
      (origin) => (isOrigin(origin) ? origin : null),
      "origins such as https://app.example, separated by commas",
    ).optional(),
  },
  ALLOWED_HOSTS: {
    doc: "More host names by which clients reach `/mcp`, separated by commas, such as `relay.lan,studio.example`",
    schema: list(
      hostName,
      "host names such as relay.lan, without a port, separated by commas",
    ).optional(),
  },
  OUTBOUND_PRIVATE: {
    doc: "Private networks that URLs given by users may reach, in CIDR notation, separated by commas, such as `192.168.0.0/16,fd00::/8`; none when unset",
    schema: list(
      (network) => (isNetwork(network) ? network : null),
      "networks such as 192.168.0.0/16, with a whole address in decimal, separated by commas",
    ).optional(),
  },
  OUTBOUND_PROXY: {
    doc: "Proxy for requests to public URLs given by users, such as `http://proxy.example:3128`, with a user name and password if it needs them; none when unset",
    schema: z
      .string()
      .trim()
      .refine(
        (value) => /^https?:\/\/([^/?#@\\]*@)?[^/?#@\\\s]+\/?$/.test(value) && URL.canParse(value),
        "must be the http(s) URL of a proxy, without a path",
      )
      .refine(isReadable, "must have a user name and password that are percent-encoded")
      .optional(),
  },
  RATE_LIMITS: {
    doc: "`off` disables all rate limits; for load tests",
    schema: z.enum(["on", "off"], "must be on or off").default("on"),
  },
  ACCOUNT_CREATION: {
    doc: "Who can create an account: `open` anyone; `first` only the first one, with the code that the start prints; `off` nobody",
    schema: z.enum(["open", "first", "off"], "must be open, first or off").default("open"),
  },
  ACCOUNT_STORAGE_MB: {
    doc: "Megabytes that one account may store; `0` any number. `1000` with `ACCOUNT_CREATION=open` when unset, otherwise `0`",
    schema: number(/^\d{1,7}$/, "must be a number of megabytes from 0 to 9999999").optional(),
  },
  ATTEST: {
    doc: "`required`: `POST /v1/accounts` needs an App Attest attestation from the app",
    schema: z.enum(["off", "required"], "must be off or required").default("off"),
  },
  ATTEST_APP_ID: {
    doc: "App ID (team ID, dot, bundle ID), such as `A1B2C3D4E5.com.example.relay`; required with `ATTEST=required`",
    schema: text(
      /^[A-Z0-9]{10}\.[A-Za-z0-9.-]{1,155}$/,
      "must be a team id, a dot and a bundle id",
    ).optional(),
  },
  ATTEST_ROOT_CA_FILE: {
    doc: "PEM file with the root certificate to trust; Apple's App Attestation Root CA when unset",
    schema: anyText,
  },
  TASK_RETENTION_DAYS: {
    doc: "Days after its last update until a `done` or `cancelled` task is deleted; `0` keeps tasks",
    schema: number(/^\d{1,5}$/, "must be a number of days from 0 to 99999").default(30),
  },
  APNS_TEAM_ID: {
    doc: "Apple Developer team ID; pushes are off when unset",
    schema: apnsId,
  },
  APNS_BUNDLE_ID: {
    doc: "Bundle ID of the app; required for pushes",
    schema: text(/^[A-Za-z0-9.-]{1,155}$/, "must be a bundle id").optional(),
  },
  APNS_PRODUCTION_KEY_ID: { doc: "ID of the APNs key for production devices", schema: apnsId },
  APNS_PRODUCTION_KEY: {
    doc: "That key (`.p8`), as PEM text or a file path; when unset, production devices get no pushes",
    schema: anyText,
  },
  APNS_SANDBOX_KEY_ID: { doc: "ID of the APNs key for sandbox devices", schema: apnsId },
  APNS_SANDBOX_KEY: {
    doc: "That key, as PEM text or a file path; when unset, sandbox devices get no pushes",
    schema: anyText,
  },
  APNS_PRODUCTION_URL: { doc: "APNs endpoint for production; Apple's when unset", schema: apnsUrl },
  APNS_SANDBOX_URL: { doc: "APNs endpoint for the sandbox; Apple's when unset", schema: apnsUrl },
  APNS_CA_FILE: {
    doc: "PEM file with the CA to trust when the endpoint is a stand-in for APNs",
    schema: anyText,
  },
  VAPID_SUBJECT: {
    doc: "How browsers' push services reach the operator: a `mailto:` address or an `https` URL. When unset, the origin of an `https` `PUBLIC_URL` with a public name, or `https://localhost`, which Apple refuses",
    schema: z
      .string()
      .max(200, "must have at most 200 characters")
      .refine(
        (value) =>
          /^mailto:[^\s@]+@[^\s@]+$/.test(value) ||
          (/^https:\/\/\S+$/.test(value) && URL.canParse(value)),
        "must be a mailto: address or an https URL",
      )
      .optional(),
  },
  WEB_PUSH_HOSTS: {
    doc: "More hosts of browsers' push services, with or without a port, separated by commas, such as `push.example`; `http` is permitted for them",
    schema: list(
      (host) =>
        HOST_SIGNS.test(host.replace(/:\d{1,5}$/, "")) &&
        URL.parse(`https://${host}`)?.host === host
          ? host
          : null,
      "hosts such as push.example or 127.0.0.1:8080, separated by commas",
    ).optional(),
  },
  NTFY_SERVER: {
    doc: "The ntfy server of topics that Relay makes, as an origin such as `https://ntfy.example`; must be permitted by `OUTBOUND_PRIVATE` if it is private",
    schema: z
      .string()
      .refine(isOrigin, "must be an origin such as https://ntfy.example")
      .default("https://ntfy.sh"),
  },
  TELEGRAM_BOT_TOKEN: {
    doc: "Token of a Telegram bot, as BotFather gives it, through which every account can be reached; when unset, each account names its own bot",
    schema: text(
      /^\d{1,20}:[A-Za-z0-9_-]{10,100}$/,
      "must be the token of a bot, such as 123456789:AAExample",
    ).optional(),
  },
  TELEGRAM_API_ROOT: {
    doc: "Origin of another Bot API server, such as `http://127.0.0.1:8081`; its network must be public or in `OUTBOUND_PRIVATE`",
    schema: z
      .string()
      .refine(isOrigin, "must be an http(s) origin such as http://127.0.0.1:8081")
      .default("https://api.telegram.org"),
  },
  PUSH_CONTENT: {
    doc: "`generic` leaves titles, prompts and notes out of notifications; the app fetches them",
    schema: z.enum(["full", "generic"], "must be full or generic").default("full"),
  },
  LOG_LEVEL: {
    doc: `Minimum level to log: ${LOG_LEVELS.map((level) => `\`${level}\``).join(", ")}`,
    schema: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default("info"),
  },
  ...TRACES_CONFIG,
} as const;

type Table = typeof CONFIG;

/** Variables whose value can be in a file instead, which the variable with `_FILE` at its end names. */
export const SECRETS = [
  "DATABASE_AUTH_TOKEN",
  "DATABASE_ENCRYPTION_KEY",
  "ADMIN_TOKEN",
  "OUTBOUND_PROXY",
  "TELEGRAM_BOT_TOKEN",
  "OTEL_EXPORTER_OTLP_HEADERS",
] as const satisfies readonly (keyof Table)[];

export type Config = { readonly [Name in keyof Table]: z.output<Table[Name]["schema"]> };

/**
 * Says what is wrong with a variable, in one line. It never repeats the value, which may be a secret, except for the
 * path of a file.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Says that what `variable` names cannot be used. Of the error only the code is shown, since its text may hold more. */
export function cannotUse(variable: string, what: string, error: unknown): ConfigError {
  const code = codeOf(error instanceof Error && error.cause ? error.cause : error);
  return new ConfigError(`${variable}: ${what}${code && ` (${code})`}`, { cause: error });
}

/** Reads the configuration from the environment. An empty variable counts as unset. Throws {@link ConfigError}. */
export function readConfig(given: Readonly<Record<string, string | undefined>>): Config {
  const env = withoutUnusedTraces(given);
  const entries = Object.entries(CONFIG).map(([name, { schema }]) => {
    const value = env[name] || undefined;
    const result = schema.safeParse(value);
    if (!result.success) {
      const fault = result.error.issues[0]?.message ?? "is not valid";
      throw new ConfigError(`${name}: ${fault}${leftovers(value ?? "")}`);
    }
    return [name, result.data];
  });
  const config = Object.fromEntries(entries) as Config;
  if (config.ATTEST === "required" && config.ATTEST_APP_ID === undefined) {
    throw new ConfigError("ATTEST_APP_ID: is needed when ATTEST is required");
  }
  const needs: Needs = (name, because) => {
    if (config[because] !== undefined && config[name] === undefined) {
      throw new ConfigError(`${name}: is needed when ${because} is set`);
    }
  };
  needs("TLS_KEY_FILE", "TLS_CERT_FILE");
  needs("TLS_CERT_FILE", "TLS_KEY_FILE");
  if (config.BACKUP_URL !== undefined && config.DATABASE_URL.startsWith("file:")) {
    throw new ConfigError("BACKUP_URL: is only for a libSQL server at DATABASE_URL");
  }
  checkPushes(config, needs);
  return config;
}

/** Throws {@link ConfigError} if `because` is set and `name` is not. */
type Needs = (name: keyof Config, because: keyof Config) => void;

/** The variables of APNs are set together or not at all, and each key has its id. */
function checkPushes(config: Config, needs: Needs): void {
  needs("APNS_BUNDLE_ID", "APNS_TEAM_ID");
  for (const name of ["APNS_PRODUCTION", "APNS_SANDBOX"] as const) {
    needs(`${name}_KEY_ID`, `${name}_KEY`);
    needs(`${name}_KEY`, `${name}_KEY_ID`);
    needs(`${name}_KEY`, `${name}_URL`);
    needs("APNS_TEAM_ID", `${name}_KEY`);
  }
  needs("APNS_TEAM_ID", "APNS_BUNDLE_ID");
  needs("APNS_TEAM_ID", "APNS_CA_FILE");
  if (config.APNS_SANDBOX_KEY === undefined) needs("APNS_PRODUCTION_KEY", "APNS_TEAM_ID");
}

/**
 * What an editor, a shell or a file of variables left around a refused value, which therefore looks right to whoever
 * wrote it. Empty if there is nothing.
 */
function leftovers(value: string): string {
  const found: string[] = [];
  if (/\r/.test(value)) found.push("a carriage return, as files made on Windows have");
  else if (/^\s|\s$/.test(value)) found.push("white space at its beginning or end");
  if (/^\s*(["']).*\1\s*$/s.test(value))
    found.push("quotes around it, which are part of the value");
  return found.length === 0 ? "" : `; it has ${found.join(" and ")}`;
}
