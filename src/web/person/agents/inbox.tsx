/** The inbox of an agent, and a form for a message to it. */

import { Inbox as InboxIcon, Send } from "lucide-react";
import { type FormEvent, useEffect } from "react";
import type { Item } from "../../state/api.ts";
import { Ago } from "../../ui/ago.tsx";
import { Part } from "../../ui/boundary.tsx";
import { Button } from "../../ui/button.tsx";
import { AreaField } from "../../ui/field.tsx";
import { Badge, Empty, FormProblem, More, Problem, Skeleton } from "../../ui/parts.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { PromptLines, QuestionLink } from "../questions/question-row.tsx";
import { useDraft } from "../use-draft.ts";
import { usePagination } from "../use-pagination.ts";
import { useSession, useStore } from "../use-store.ts";

export function Inbox({ id }: { id: string }) {
  const { api, store } = useSession();
  // Items which become read are shown as read.
  const version = useStore((one) => one.inboxVersion(id));
  const loads = useStore((one) => one.loads());
  const { items, fault, busy, has_more, refresh, more } = usePagination<Item>(async (cursor) => {
    const page = await api.inbox.ofKey.query({ key_id: id, ...(cursor !== null && { cursor }) });
    store.setUnread(id, page.unreceived);
    return page;
  }, `${id} ${loads}`);
  useEffect(() => {
    if (version > 0) void refresh();
  }, [version, refresh]);
  return (
    <div className="space-y-4">
      <MessageForm id={id} onSent={() => void refresh()} />
      {fault && <Problem>{fault.message}</Problem>}
      {items === null ? (
        !fault && <Skeleton label="Loading inbox" />
      ) : items.length === 0 ? (
        <Empty icon={InboxIcon} title="Inbox is empty">
          Your messages, answers and changes to this agent's tasks will appear here.
        </Empty>
      ) : (
        <ul aria-label="Inbox" className="card divide-y divide-line overflow-hidden">
          {items.map((item) => (
            <li key={item.id} className="px-4 py-3.5">
              <Part name="item">
                <Line item={item} />
              </Part>
            </li>
          ))}
        </ul>
      )}
      {has_more && <More busy={busy} onClick={() => void more()} />}
    </div>
  );
}

/** `onSent` is called once the server has the message. */
export function MessageForm({ id, onSent }: { id: string; onSent?: () => void }) {
  const { api } = useSession();
  const { busy, fault, run } = useAction();
  const { value: text, set, send } = useDraft(`message ${id}`, "");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const sent = (options: object) => api.messages.send.mutate({ key_id: id, text }, options);
    if (!(await run(() => send(sent)))) return;
    toast("Message sent");
    onSent?.();
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="card space-y-3 p-4">
      <AreaField
        label="Message to agent"
        name="message"
        required
        value={text}
        onChange={({ target }) => set(target.value)}
        error={fault?.fields.text}
      />
      <FormProblem fault={fault} />
      <div className="flex justify-end">
        <Button type="submit" variant="primary" busy={busy} disabled={text.trim() === ""}>
          <Send aria-hidden className="size-4" />
          Send message
        </Button>
      </div>
    </form>
  );
}

const WORDS: Readonly<Record<Item["type"], string>> = {
  "task.created": "New task",
  "task.updated": "Task updated",
  "task.deleted": "Task deleted",
  "question.answered": "Answer",
  message: "Message",
};

function ReadBadge({ item: { read_at, received_at } }: { item: Item }) {
  const is_new = read_at === null && received_at === undefined;
  return (
    <Badge tone={is_new ? "accent" : "plain"}>{is_new ? "Unread by agent" : "Read by agent"}</Badge>
  );
}

function Line({ item }: { item: Item }) {
  const { task, question, text, from } = item;
  return (
    <>
      <p className="flex items-center gap-2 text-faint text-sm">
        <span className="min-w-0 flex-1">
          <span className="font-medium text-soft">{WORDS[item.type]}</span>
          {" from "}
          {from.kind === "account" ? "you" : <bdi className="said">{from.label}</bdi>}
          {", "}
          <Ago at={item.created_at} />
        </span>
        <ReadBadge item={item} />
      </p>
      {task && (
        <p dir="auto" className="said mt-0.5">
          {task.title}
          {item.changes.length > 0 && (
            <span className="text-faint text-sm">{` (${item.changes.join(", ")})`}</span>
          )}
        </p>
      )}
      {question && (
        <QuestionLink id={question.id} className="-mx-4 -mb-3.5 px-4 pt-0.5 pb-3.5">
          <span className="text-soft">
            <PromptLines question={question} />
          </span>
          <bdi dir="auto" className="said line-clamp-3 whitespace-pre-wrap font-medium">
            {question.answer}
          </bdi>
          {question.note !== undefined && (
            <bdi dir="auto" className="said line-clamp-3 whitespace-pre-wrap text-soft text-sm">
              {question.note}
            </bdi>
          )}
        </QuestionLink>
      )}
      {text !== null && (
        <p dir="auto" className="said mt-0.5 whitespace-pre-wrap">
          {text}
        </p>
      )}
    </>
  );
}
