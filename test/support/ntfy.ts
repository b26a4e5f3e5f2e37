/**
 * A stand-in for an ntfy server on every address of 127.0.0.0/8: it accepts JSON publishes, checks the
 * limits that ntfy documents, and responds like a server of the given version.
 */

import { afterAll } from "bun:test";
import { createServer } from "node:http";
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

interface NtfyOptions {
  /** False: a version before 2.16, which has no `sequence_id`. */
  readonly replaces?: boolean;
  /** Topics that require this token. */
  readonly token?: string;
}

export async function startNtfy({ replaces = true, token }: NtfyOptions = {}) {
  const published: Published[] = [];
  const faults: string[] = [];
  let behaviour: NtfyBehaviour = "ok";
  let received = 0;
  let open = 0;
  const publish = (method: string, path: string, given: string | undefined, text: string) => {
    if (method !== "POST" || path !== "/") {
      faults.push(`${method} ${path}`);
      return { status: 404, body: {} };
    }
    if (token && given !== `Bearer ${token}`) return { status: 403, body: { code: 40301 } };
    const body: Published = JSON.parse(text);
    const wrong = faultsOf(text, body);
    faults.push(...wrong);
    if (wrong.length > 0) return { status: 400, body: { code: 40000 } };
    published.push(body);
    const { sequence_id, ...rest } = body;
    const shown = { id: "hwQ2YpKdmg", time: 1_800_000_000, event: "message", ...rest };
    return { status: 200, body: { ...shown, ...(replaces && sequence_id && { sequence_id }) } };
  };
  const server = createServer(async (request, response) => {
    received++;
    open++;
    response.on("close", () => open--);
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
    faults,
    behave(next: NtfyBehaviour) {
      behaviour = next;
    },
    received: () => received,
    open: () => open,
    take: (): Published[] => published.splice(0),
    stop,
  };
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
