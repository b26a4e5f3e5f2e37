/** Resources and prompts, which a person picks in their client. */

import type { Context } from "../../routers/context.ts";
import { fail, failNotFound, invalidFields } from "../errors.ts";
import { toServiceError } from "../rpc/errors.ts";
import type { Tools } from "./tools.ts";

const mimeType = "application/json";

/** Lists of the key, each read by a tool. */
const RESOURCES = [
  {
    shown: {
      uri: "relay://tasks",
      name: "open-tasks",
      title: "Open tasks",
      description: "The 20 last updated of your tasks that are to do or in progress.",
      mimeType,
    },
    tool: "list_tasks",
    given: { status: ["todo", "in_progress"] },
  },
  {
    shown: {
      uri: "relay://questions",
      name: "pending-questions",
      title: "Pending questions",
      description: "Your newest 20 questions that the person has not answered yet.",
      mimeType,
    },
    tool: "list_questions",
    given: {},
  },
] as const;

const TEMPLATES = [
  {
    shown: {
      uriTemplate: "relay://tasks/{task_id}",
      name: "task",
      title: "One task",
      description: "A task by its id.",
      mimeType,
    },
    tool: "get_task",
    field: "task_id",
  },
  {
    shown: {
      uriTemplate: "relay://questions/{question_id}",
      name: "question",
      title: "One question",
      description: "A question by its id.",
      mimeType,
    },
    tool: "get_question",
    field: "question_id",
  },
] as const;

export const RESOURCE_LIST = { resources: RESOURCES.map(({ shown }) => shown) };
export const TEMPLATE_LIST = { resourceTemplates: TEMPLATES.map(({ shown }) => shown) };

/** The content of a resource, as JSON text; `404 not_found` for any other address. */
export async function readResource(tools: Tools, ctx: Context, uri: string): Promise<string> {
  const list = RESOURCES.find(({ shown }) => shown.uri === uri);
  if (list) return JSON.stringify(await tools.get(list.tool)!.call(ctx, list.given));
  for (const { shown, tool, field } of TEMPLATES) {
    const start = shown.uriTemplate.slice(0, shown.uriTemplate.indexOf("{"));
    const id = uri.startsWith(start) ? uri.slice(start.length) : "";
    if (id === "") continue;
    const found = await tools
      .get(tool)!
      .call(ctx, { [field]: id })
      .catch((error: unknown) => {
        const { code, fields } = toServiceError(error);
        const reason = fields?.[field];
        if (reason === undefined) throw error;
        // The client sent a URI, not this parameter.
        if (code === "not_found") failNotFound("uri");
        throw invalidFields({ uri: reason });
      });
    return JSON.stringify(found);
  }
  return fail("not_found");
}

/** Throws if a tool that reads a resource is missing. */
export function checkResources(tools: Tools): void {
  for (const { tool, shown } of [...RESOURCES, ...TEMPLATES]) {
    if (!tools.has(tool)) throw new Error(`the resource ${shown.name} needs the tool ${tool}`);
  }
}

const NEXT_TASK = {
  name: "next_task",
  title: "Work on the next task",
  description: "Takes the most urgent task that waits for this agent, and works on it to the end.",
};

export const PROMPT_LIST = { prompts: [NEXT_TASK] };

/** The messages of a prompt; undefined for any other name. */
export function promptNamed(name: unknown) {
  if (name !== NEXT_TASK.name) return undefined;
  const text =
    'Call list_tasks with status ["todo"], and priority ["urgent"] first, then ["high"], ["medium"] and ["low"], until there are some; take the oldest one. Say which one it is, set it in_progress, and work on it until it is done, with progress and status_note kept current by update_task. Ask me with ask_question where only I can decide. If nothing is to do, say so.';
  return {
    description: NEXT_TASK.description,
    messages: [{ role: "user" as const, content: { type: "text" as const, text } }],
  };
}
