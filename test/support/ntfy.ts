/**
 * A stand-in for an ntfy server on every address of 127.0.0.0/8: it accepts JSON publishes, checks the
 * limits that ntfy documents, and responds like a server of the given version.
 */

import { afterAll } from "bun:test";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Published {
  readonly topic: string;
  readonly title?: string;
  readonly message?: string;
  readonly priority?: number;
  readonly click?: string;
  readonly actions?: readonly unknown[];
  readonly sequence_id?: string;
}

/**
 * `drop`: the connection closes without a response; `hang`: no response; `hang some`: no response
 * for topics whose name begins with `hang`. A number: that status.
 */
export type NtfyBehaviour =
  | "ok"
  | "drop"
  | "hang"
  | "hang some"
  | "junk"
  | number
  | Refusal
  | SomethingElse;

/** Something in front of the server, such as a login page. */
interface SomethingElse {
  readonly status: number;
  readonly body: string;
  readonly type: string;
}

interface Refusal {
  readonly status: number;
  readonly retry_after: string;
}

/**
 * How the server treats subscriptions: as above, with lines that no client should have to read, with an end after the
 * first line, or with a web page from something in front of it.
 */
export type SubscriptionBehaviour =
  | "ok"
  | "drop"
  | "hang"
  | "flood"
  | "endless line"
  | "end"
  | "web page"
  | number;

/** A line of a subscription: https://docs.ntfy.sh/subscribe/api/#json-message-format */
interface Line {
  readonly id: string;
  readonly time: number;
  readonly event: "open" | "keepalive" | "message";
  readonly topic: string;
  readonly message?: string;
}

/** Whether a request with this token may read or write the topic. */
type Access = (topic: string, token: string | null) => { read: boolean; write: boolean };

interface NtfyOptions {
  /** Who may do what; everybody everything when absent. */
  readonly access?: Access;
  /** The server's clock in epoch seconds. */
  readonly now?: () => number;
  /** False: a version before 2.16, which has no `sequence_id`. */
  readonly replaces?: boolean;
  /** Topics that require this token. */
  readonly token?: string;
}

/** Topics whose messages are replies: they are not in `published`. */
const REPLIES = /^relay-reply-/;
/** Subscriptions of one visitor, which ntfy limits. */
const SUBSCRIPTIONS = 30;

export async function startNtfy(options: NtfyOptions = {}) {
  const { replaces = true, token, now = () => Math.floor(Date.now() / 1000) } = options;
  let access: Access = options.access ?? (() => ({ read: true, write: true }));
  const cached: Line[] = [];
  const replies: Published[] = [];
  const subscriptions = new Map<ServerResponse, readonly string[]>();
  /** The paths of all subscriptions so far. */
  const subscribed: string[] = [];
  let treat: SubscriptionBehaviour = "ok";
  let ids = 0;
  const nextId = () => `msg${String(++ids).padStart(9, "0")}`;
  const lineOf = (event: Line["event"], topic: string, message?: string): Line => ({
    ...{ id: nextId(), time: Math.floor(now()), event, topic },
    ...(message !== undefined && { message }),
  });
  const write = (response: ServerResponse, line: Line) =>
    response.write(`${JSON.stringify(line)}\n`);
  const deliver = (topic: string, message: string) => {
    const line = lineOf("message", topic, message);
    cached.push(line);
    for (const [response, topics] of subscriptions)
      if (topics.includes(topic)) write(response, line);
    return line;
  };

  const subscribe = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://ntfy");
    const topics = (/^\/([-_A-Za-z0-9,]+)\/json$/.exec(pathname)?.[1] ?? "").split(",");
    const since = searchParams.get("since") ?? "none";
    const poll = searchParams.get("poll") === "1";
    subscribed.push(request.url ?? "");
    if (topics.some((topic) => !/^[-_A-Za-z0-9]{1,64}$/.test(topic))) faults.push("topics");
    if (!/^(all|none|\d{1,10})$/.test(since)) faults.push(`since=${since}`);
    const refuse = (status: number) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ code: status * 100 + 1, http: status }));
    };
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? null;
    if (typeof treat === "number") return refuse(treat);
    if (treat === "drop") return void request.socket.destroy();
    if (treat === "web page") {
      response.writeHead(200, { "content-type": "text/html" });
      return void response.end("<!doctype html>\n<title>Sign in</title>\n");
    }
    if (topics.some((topic) => !access(topic, given).read)) return refuse(403);
    if (subscriptions.size >= SUBSCRIPTIONS) return refuse(429);
    response.writeHead(200, { "content-type": "application/x-ndjson; charset=utf-8" });
    response.flushHeaders();
    if (treat === "hang") return;
    if (treat === "end") {
      write(response, lineOf("open", topics.join(",")));
      return void response.end();
    }
    if (treat === "endless line" || treat === "flood") {
      const part = treat === "flood" ? `${"x".repeat(60_000)}\n` : "x".repeat(1_000);
      const timer = setInterval(() => response.write(part), 5);
      response.on("close", () => clearInterval(timer));
      return;
    }
    const old = cached.filter(
      ({ topic, time }) =>
        topics.includes(topic) && (since === "all" || (since !== "none" && time >= Number(since))),
    );
    if (!poll) write(response, lineOf("open", topics.join(",")));
    for (const line of old) write(response, line);
    if (poll) return void response.end();
    subscriptions.set(response, topics);
    response.on("close", () => subscriptions.delete(response));
  };

  const published: Published[] = [];
  /** Topic and `sequence_id` of each deletion. */
  const deleted: string[] = [];
  const faults: string[] = [];
  let behaviour: NtfyBehaviour = "ok";
  let received = 0;
  let open = 0;
  const publish = (method: string, path: string, given: string | undefined, text: string) => {
    // https://docs.ntfy.sh/publish/#deleting-notifications, since 2.16.
    if (method === "DELETE" && replaces && /^\/[-_\w]{1,64}\/[-_\w]{1,64}$/.test(path)) {
      if (token && given !== `Bearer ${token}`) return { status: 403, body: { code: 40301 } };
      deleted.push(path.slice(1));
      return { status: 200, body: { id: "hwQ2YpKdmg", event: "message_delete" } };
    }
    if (method === "DELETE" && !replaces) return { status: 404, body: { code: 40401 } };
    if (method !== "POST" || path !== "/") {
      faults.push(`${method} ${path}`);
      return { status: 404, body: {} };
    }
    const body: Published = JSON.parse(text);
    const sent = /^Bearer (.+)$/.exec(given ?? "")?.[1] ?? null;
    const is_reply = REPLIES.test(body.topic);
    if (token && !is_reply && sent !== token) return { status: 403, body: { code: 40301 } };
    if (!access(body.topic, sent).write) return { status: 403, body: { code: 40301 } };
    const wrong = faultsOf(text, body);
    faults.push(...wrong);
    if (wrong.length > 0) return { status: 400, body: { code: 40000 } };
    (is_reply ? replies : published).push(body);
    const { sequence_id, ...rest } = body;
    const shown = { ...rest, ...deliver(body.topic, body.message ?? "") };
    return { status: 200, body: { ...shown, ...(replaces && sequence_id && { sequence_id }) } };
  };
  const server = createServer(async (request, response) => {
    // https://docs.ntfy.sh/config/#health-checks
    if (request.url === "/v1/health") return void response.end('{"healthy":true}\n');
    received++;
    open++;
    response.on("close", () => open--);
    if (request.method === "GET") return subscribe(request, response);
    let text = "";
    for await (const chunk of request) text += chunk;
    const send = (status: number, body: string) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body);
    };
    if (behaviour === "hang") return;
    if (behaviour === "hang some" && text.includes('"topic":"hang')) return;
    if (behaviour === "drop") return void request.socket.destroy();
    if (behaviour === "junk") return send(599, "x".repeat(70_000));
    if (typeof behaviour === "object" && "body" in behaviour) {
      response.writeHead(behaviour.status, { "content-type": behaviour.type });
      return void response.end(behaviour.body);
    }
    if (typeof behaviour === "object") {
      response.setHeader("retry-after", behaviour.retry_after);
      return send(behaviour.status, "{}");
    }
    if (typeof behaviour === "number") return send(behaviour, JSON.stringify({ http: behaviour }));
    const { method = "", url = "", headers } = request;
    const { status, body } = publish(method, url, headers.authorization, text);
    send(status, JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, "0.0.0.0", listening));
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise<void>((closed) => server.close(() => closed()));
  };
  afterAll(stop);
  return {
    url: `http://127.0.0.1:${port}`,
    published,
    deleted,
    faults,
    behave(next: NtfyBehaviour) {
      behaviour = next;
    },
    received: () => received,
    open: () => open,
    take: (): Published[] => published.splice(0),
    /** Writes a message to a topic, as anybody may. */
    write: (topic: string, message: string) => deliver(topic, message),
    replies,
    subscribed,
    /** Subscriptions that are open. */
    listening: () => [...subscriptions.values()],
    /** Sends a line to every subscription, as the server does every 45 seconds. */
    keepAlive() {
      for (const [response, topics] of subscriptions) {
        write(response, lineOf("keepalive", topics.join(",")));
      }
    },
    /** Ends every subscription, as a restart does. */
    cut() {
      for (const response of subscriptions.keys()) response.destroy();
    },
    treatSubscriptions(next: SubscriptionBehaviour) {
      treat = next;
    },
    permit(next: Access) {
      access = next;
    },
    stop,
  };
}

/** What the app does when a person taps a button: https://docs.ntfy.sh/publish/#send-http-request */
export async function tap(published: Published | undefined, label: string): Promise<number> {
  const action = (published?.actions as readonly HttpAction[] | undefined)?.find(
    (one) => one.action === "http" && one.label === label,
  );
  if (!action) throw new Error(`no button ${label}`);
  const { url, method, headers, body } = action;
  return (await fetch(url, { method, headers, body })).status;
}

interface HttpAction {
  readonly action: string;
  readonly label: string;
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** From the documentation of ntfy: https://docs.ntfy.sh/publish/ */
function faultsOf(text: string, body: Published): string[] {
  const { topic, message = "", priority = 3, actions = [], click, sequence_id } = body;
  const faults: string[] = [];
  if (!/^[-_A-Za-z0-9]{1,64}$/.test(topic)) faults.push("topic");
  if (Buffer.byteLength(text) > 8_192) faults.push("publish of more than 8,192 bytes");
  if (Buffer.byteLength(message) > 4_095) faults.push("message of more than 4,095 bytes");
  if (!Number.isInteger(priority) || priority < 1 || priority > 5) faults.push("priority");
  if (actions.length > 3) faults.push("more than 3 actions");
  if (click !== undefined && !URL.canParse(click)) faults.push("click");
  if (sequence_id !== undefined && !/^[-_A-Za-z0-9]{1,64}$/.test(sequence_id)) {
    faults.push("sequence_id");
  }
  return faults;
}
