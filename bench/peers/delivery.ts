/** How long an answer or a change takes to one waiting client, in Relay and in nchan. */

import { connect, head, type RawConnection } from "../../test/support/raw.ts";
import type { Load } from "../load.ts";
import { post } from "../process.ts";
import { within } from "../within.ts";

export const KINDS = ["waits", "streams"] as const;
export type Kind = (typeof KINDS)[number];

/** Delivers again and again for a while; each millisecond figure runs from the sent request to the receipt. */
export interface Delivery {
  run(seconds: number): Promise<Load>;
  close(): void;
}

/** Milliseconds of pause before each delivery, of a wait or a stream: a wait that was sent has gone to sleep by then. */
const PAUSE = 5;
/** Milliseconds until a delivery counts as lost. */
const LOST = 10_000;
/** Seconds in which every request is answered, also one that waits for 20 s. */
const ANSWER = 40;

async function repeat(seconds: number, once: () => Promise<number>): Promise<Load> {
  const ms: number[] = [];
  const from = performance.now();
  while (performance.now() < from + seconds * 1_000) ms.push(await once());
  return { count: ms.length, seconds: (performance.now() - from) / 1_000, ms };
}

function send(to: RawConnection, line: string, credential: string, body = ""): void {
  const [method = "", target = ""] = line.split(" ");
  const headers = {
    ...(credential && { authorization: `Bearer ${credential}` }),
    ...(body && { "content-type": "application/json" }),
  };
  to.write(head(method, target, headers, body) + body);
}

async function answerOf(from: RawConnection, status: number): Promise<number> {
  const answer = await within(ANSWER, "an answer", from.answer());
  const at = performance.now();
  if (answer?.status !== status) throw new Error(`an answer ${answer?.status}: ${answer?.text}`);
  return at;
}

interface Waiting {
  /** Sends the waiting request of a turn. */
  wait(turn: number): Promise<void> | void;
  /** Sends what ends it. */
  answer(turn: number): void;
  readonly waiter: RawConnection;
  readonly answerer: RawConnection;
  readonly status: number;
}

function waitDelivery({ wait, answer, waiter, answerer, status }: Waiting): Delivery {
  let turn = 0;
  const once = async () => {
    turn++;
    await wait(turn);
    await Bun.sleep(PAUSE);
    const from = performance.now();
    answer(turn);
    const [at] = await Promise.all([answerOf(waiter, 200), answerOf(answerer, status)]);
    return at - from;
  };
  return {
    run: (seconds) => repeat(seconds, once),
    close() {
      waiter.end();
      answerer.end();
    },
  };
}

interface Streaming {
  readonly port: number;
  readonly stream: Uint8Array;
  /** Sends a change whose frame contains `text`. */
  change(to: RawConnection, text: string): void;
  readonly status: number;
}

async function streamDelivery({ port, stream, change, status }: Streaming): Promise<Delivery> {
  const changer = await connect(`http://127.0.0.1:${port}`);
  const begun = Promise.withResolvers<void>();
  let received = "";
  let sought = "";
  let arrive: (at: number) => void = () => {};
  const reader = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, chunk) {
        begun.resolve();
        received += chunk.toString("latin1");
        if (sought === "" || !received.includes(sought)) return;
        received = "";
        sought = "";
        arrive(performance.now());
      },
    },
  });
  reader.write(stream);
  await within(ANSWER, "the first frame of a stream", begun.promise);
  let turn = 0;
  const once = async () => {
    const text = `Step ${++turn} of many`;
    const arrived = Promise.withResolvers<number>();
    const lost = setTimeout(() => arrived.reject(new Error("a frame did not come")), LOST);
    arrive = arrived.resolve;
    sought = text;
    await Bun.sleep(PAUSE);
    const from = performance.now();
    change(changer, text);
    const [at] = await Promise.all([arrived.promise, answerOf(changer, status)]);
    clearTimeout(lost);
    return at - from;
  };
  return {
    run: (seconds) => repeat(seconds, once),
    close() {
      reader.end();
      changer.end();
    },
  };
}

/** An agent that waits for an answer, or a person who watches a task that an agent changes. */
export async function relayDelivery(kind: Kind, port: number): Promise<Delivery> {
  const { token } = await post<{ token: string }>(port, "/v1/accounts", {});
  const { secret } = await post<{ secret: string }>(port, "/v1/keys", { label: "Bench" }, token);
  if (kind === "streams") {
    const { id } = await post<{ id: string }>(port, "/v1/tasks", { title: "Watched" }, secret);
    return streamDelivery({
      port,
      stream: Buffer.from(head("GET", "/v1/events", { authorization: `Bearer ${token}` })),
      change: (to, text) =>
        send(to, `PATCH /v1/tasks/${id}`, secret, JSON.stringify({ status_note: text })),
      status: 200,
    });
  }
  const url = `http://127.0.0.1:${port}`;
  const [waiter, answerer] = [await connect(url), await connect(url)];
  let asked = "";
  return waitDelivery({
    async wait() {
      const made = await post<{ id: string }>(port, "/v1/questions", { prompt: "Go on?" }, secret);
      asked = made.id;
      send(waiter, `GET /v1/questions/${asked}?wait=20`, secret);
    },
    answer: () => send(answerer, `POST /v1/questions/${asked}/answer`, token, '{"answer":"Yes"}'),
    waiter,
    answerer,
    status: 200,
  });
}

/** As long as a frame of Relay about a changed task. */
const FILL = "x".repeat(500);

/** A subscriber of a channel by long polling, or of its event stream; a message is published to it. */
export async function nchanDelivery(kind: Kind, port: number): Promise<Delivery> {
  if (kind === "streams") {
    return streamDelivery({
      port,
      stream: Buffer.from(head("GET", "/events?id=watched", { accept: "text/event-stream" })),
      change: (to, text) =>
        send(to, "POST /publish?id=watched", "", JSON.stringify({ status_note: text, fill: FILL })),
      status: 201,
    });
  }
  const url = `http://127.0.0.1:${port}`;
  const [waiter, answerer] = [await connect(url), await connect(url)];
  return waitDelivery({
    wait: (turn) => send(waiter, `GET /wait?id=question-${turn}`, ""),
    answer: (turn) =>
      send(answerer, `POST /publish?id=question-${turn}`, "", JSON.stringify({ answer: "Yes" })),
    waiter,
    answerer,
    status: 201,
  });
}
