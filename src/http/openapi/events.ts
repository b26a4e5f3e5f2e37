/** The event stream in the OpenAPI document, which the generator does not know, as it is not a procedure. */

import { z } from "zod";
import { EVENTS } from "../../model/event.ts";
import { errorResponses, type Json } from "./parts.ts";

/** `task.created` -> `TaskCreatedEvent`. */
const componentOf = (name: string): string =>
  `${name.replace(/(^|\.)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;

const NAMES = Object.keys(EVENTS) as (keyof typeof EVENTS)[];

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const required = (name: (typeof NAMES)[number]): number => Object.keys(EVENTS[name].shape).length;

/** Events with more members first, as generated clients take the first schema that fits. */
const BY_SIZE = NAMES.toSorted((a, b) => required(b) - required(a));

/** Name of the component of an event's data. Throws, with the event's name, if the schema has no id. */
function idOf(name: (typeof NAMES)[number]): string {
  const id = EVENTS[name].meta()?.id;
  if (id === undefined) throw new Error(`the data of the event ${name} has no .meta({ id })`);
  return id;
}

/** The schema of an event's data, which refers to components of the document. */
function dataSchema(name: (typeof NAMES)[number]): Json {
  const { $defs = {} } = z.toJSONSchema(EVENTS[name], { io: "output" });
  const text = JSON.stringify($defs[idOf(name)]);
  return JSON.parse(text.replaceAll("#/$defs/", "#/components/schemas/"));
}

/**
 * Components of the stream: an event as a client reads it from its frame, and its data. OpenAPI 3.1 cannot describe the
 * items of a stream, so the response refers to the data, which generators for server-sent events give to their callers.
 */
export const EVENT_SCHEMAS: Json = {
  ...Object.fromEntries(NAMES.map((name) => [idOf(name), dataSchema(name)])),
  ...Object.fromEntries(
    NAMES.map((name) => [
      componentOf(name),
      {
        type: "object",
        properties: { event: { type: "string", enum: [name] }, data: refTo(idOf(name)) },
        required: ["event", "data"],
      },
    ]),
  ),
  StreamEvent: {
    description: "An event with its name, which is in the `event` line of its frame",
    oneOf: NAMES.map((name) => refTo(componentOf(name))),
    discriminator: {
      propertyName: "event",
      mapping: Object.fromEntries(
        NAMES.map((name) => [name, `#/components/schemas/${componentOf(name)}`]),
      ),
    },
  },
  StreamEventData: {
    description: "The JSON in the `data` line of a frame; `StreamEvent` says which event has which",
    anyOf: [...new Set(BY_SIZE.map(idOf))].map(refTo),
    contentMediaType: "text/event-stream",
    contentSchema: refTo("StreamEvent"),
  },
};

/** `GET /v1/events` (§7). */
export function eventStream(): Json {
  return {
    operationId: "streamEvents",
    tags: ["Events"],
    summary: "Stream the changes of the account",
    description:
      "Server-sent events: first `ready`, then each change in the order of the commits. Nothing is replayed: read the lists again after `ready`. Each frame is a `StreamEvent`: its name in the line `event`, and its data as JSON in the line `data`.",
    security: [{ account: [] }],
    responses: {
      200: {
        description: "OK",
        content: {
          "text/event-stream": { schema: refTo("StreamEventData") },
        },
      },
      ...errorResponses([
        "unauthorized",
        "forbidden",
        "rate_limited",
        "internal",
        "store_unavailable",
      ]),
    },
  };
}
