/** One agent: what it does now, its timeline, inbox, key, and setup with the request log. */

import { Pencil, Trash2 } from "lucide-react";
import { type ReactElement, useMemo, useState } from "react";
import type { Key } from "../../state/api.ts";
import { Ago } from "../../ui/ago.tsx";
import { Button, ButtonLink, IconButton } from "../../ui/button.tsx";
import { classes } from "../../ui/classes.ts";
import { FieldForm } from "../../ui/field-form.tsx";
import { BackLink, Facts, Heading, Section } from "../../ui/parts.tsx";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { deleteAgent } from "../changes.ts";
import { RefusedAnswers } from "../questions/kept-answers.tsx";
import { go, useRoute } from "../route.ts";
import { useKey, useSession } from "../use-store.ts";
import { clientName } from "../words.ts";
import { Access, ReplaceKey } from "./access.tsx";
import { AgentSetup } from "./agent-setup.tsx";
import { AgentWebhook } from "./agent-webhook.tsx";
import { useLastUse } from "./agents.tsx";
import { Inbox, MessageForm } from "./inbox.tsx";
import { NewAgent } from "./new-agent.tsx";
import { AgentNow } from "./now.tsx";
import { RequestLog } from "./request-log.tsx";
import { Timeline } from "./timeline.tsx";
import { useTimelineExtras } from "./use-timeline-extras.ts";

/** Sections of the view: the last part of the address, the title and the content. */
const PARTS: readonly (readonly [string, string, (props: { agent: Key }) => ReactElement])[] = [
  ["", "Timeline", Overview],
  ["inbox", "Inbox", ({ agent: { id } }) => <Inbox id={id} />],
  ["key", "Key", KeyPart],
  ["setup", "Setup", SetupPart],
];

/** Addresses that are in bookmarks, and the section that has their content now. */
const MOVED: Readonly<Record<string, string>> = { activity: "setup" };

export function AgentView({ id }: { id: string }) {
  const key = useKey(id);
  useLastUse();
  if (id === "new") return <NewAgent />;
  if (!key) {
    return (
      <>
        <Heading>Agent not found</Heading>
        <RefusedAnswers />
        <ButtonLink variant="quiet" href="#/agents">
          Back to agents
        </ButtonLink>
      </>
    );
  }
  return <Agent agent={key} />;
}

function Agent({ agent }: { agent: Key }) {
  const { api, store } = useSession();
  const { part } = useRoute();
  const in_trial = useTrialEnd() !== null;
  const [renaming, setRenaming] = useState(false);
  const [shown, , Part] = PARTS.find(([name]) => name === (MOVED[part ?? ""] ?? part)) ?? PARTS[0]!;
  return (
    <>
      <BackLink href="#/agents">Agents</BackLink>
      {renaming ? (
        <FieldForm
          label="Name"
          name="label"
          initial={agent.label}
          save={async (label) =>
            store.put("keys", await api.keys.update.mutate({ key_id: agent.id, label }))
          }
          onDone={() => setRenaming(false)}
          className="mb-5"
        />
      ) : (
        <Heading
          actions={
            !in_trial && (
              <IconButton label="Rename" onClick={() => setRenaming(true)}>
                <Pencil aria-hidden className="size-4.5" />
              </IconButton>
            )
          }
        >
          <bdi dir="auto">{agent.label}</bdi>
        </Heading>
      )}
      <nav aria-label="Agent sections" className="mb-5 flex flex-wrap gap-1 border-line border-b">
        {PARTS.map(([name, title]) => (
          <a
            key={name}
            href={`#/agents/${agent.id}${name && `/${name}`}`}
            aria-current={name === shown ? "page" : undefined}
            className={classes(
              "touch -mb-px inline-flex items-center justify-center border-b-2 px-1 font-medium min-[22rem]:px-2 sm:px-3 -outline-offset-2",
              name === shown
                ? "border-accent text-ink"
                : "border-transparent text-soft hover:text-ink",
            )}
          >
            {title}
          </a>
        ))}
      </nav>
      <Part agent={agent} />
    </>
  );
}

function Overview({ agent }: { agent: Key }) {
  const { notes, messages, loadMessages } = useTimelineExtras(agent.id);
  const extras = useMemo(() => ({ notes, messages }), [notes, messages]);
  return (
    <>
      <AgentNow agent={agent} />
      <div className="mb-6">
        <MessageForm id={agent.id} onSent={() => void loadMessages()} />
      </div>
      <Timeline id={agent.id} extras={extras} />
    </>
  );
}

function SetupPart({ agent }: { agent: Key }) {
  return (
    <div className="space-y-8">
      <AgentSetup agent={agent} />
      <RequestLog id={agent.id} />
    </div>
  );
}

function KeyPart({ agent }: { agent: Key }) {
  const session = useSession();
  const in_trial = useTrialEnd() !== null;
  const remove = () => {
    deleteAgent(session, agent);
    go("agents", { replace: true });
  };
  const { last_client, last_host, last_used_at } = agent;
  return (
    <div className="space-y-4">
      <Section title="Key">
        <Facts
          facts={[
            [
              "Key",
              <code
                key="k"
                className="font-mono text-[0.8125rem]"
              >{`${agent.prefix}…${agent.last4}`}</code>,
            ],
            ["Created", <Ago key="c" at={agent.created_at} />],
            ["Last used", last_used_at === null ? "Never" : <Ago key="u" at={last_used_at} />],
            ["Last client", last_client ? <bdi key="l">{clientName(last_client)}</bdi> : "None"],
            ["Last host", last_host === null ? "None" : <bdi key="h">{last_host}</bdi>],
          ]}
        />
        <ReplaceKey agent={agent} />
      </Section>
      <Access agent={agent} />
      <AgentWebhook agent={agent} />
      {in_trial ? (
        <TrialNote what="rename or delete agents, revoke access or replace keys" />
      ) : (
        <div>
          <Button variant="warning" onClick={remove}>
            <Trash2 aria-hidden className="size-4.5" />
            Delete agent
          </Button>
          <p className="mt-1 px-4 text-faint text-sm">
            Its key stops working, and its tasks, questions, inbox and request log are deleted.
          </p>
        </div>
      )}
    </div>
  );
}
