/** Parts of the views that connect an agent: instructions, and whether its requests arrive. */

import { ArrowRight, ChevronDown, CircleCheck } from "lucide-react";
import { useState } from "react";
import type { Key } from "../../state/api.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { classes } from "../../ui/classes.ts";
import { SelectField, Switch } from "../../ui/field.tsx";
import { Snippet } from "../../ui/secret.tsx";
import { useStore } from "../use-store.ts";
import { clientName } from "../words.ts";
import { DocsLink, useLastUse } from "./agents.tsx";
import { baseAddress } from "./base-address.ts";
import { relayConnect } from "./relay-connect.ts";
import { FIRST_QUESTION, SET_UPS, type SetUp, type Step } from "./set-up.ts";

/** Seconds between polls for the first request: a request without a client or host has no event. */
const LOOK_EVERY = 3;

/** What was chosen last: the next view begins with it. */
let last_chosen = SET_UPS[0]!.client;
let last_asks = false;

interface InstructionsProps {
  /** `asks`: the client is also to ask the person before it runs something. */
  readonly stepsOf: (one: SetUp, asks: boolean) => readonly Step[];
}

export function Instructions({ stepsOf }: InstructionsProps) {
  const [client, setClient] = useState(last_chosen);
  const [wants, setWants] = useState(last_asks);
  const chosen = SET_UPS.find((one) => one.client === client)!;
  const asks = wants && chosen.relay_name !== undefined;
  const steps = stepsOf(chosen, asks);
  const in_order = client !== OTHER && steps.length > 1;
  return (
    <div className="space-y-5">
      <SelectField
        label="Client"
        value={client}
        onChange={({ target }) => {
          last_chosen = target.value;
          setClient(target.value);
        }}
        options={SET_UPS.map((one) => [one.client, one.client] as const)}
      />
      {chosen.relay_name !== undefined && (
        <Switch
          label={ASK_BEFORE}
          hint={meaningOf(client)}
          checked={asks}
          onChange={({ target }) => {
            last_asks = target.checked;
            setWants(target.checked);
          }}
        />
      )}
      <Steps steps={steps} in_order={in_order} />
      {asks && <ByRelay setUp={chosen} />}
      {client === OTHER && (
        <p className="text-soft">
          Every route is explained in <DocsLink />.
        </p>
      )}
    </div>
  );
}

function Steps({ steps, in_order }: { steps: readonly Step[]; in_order: boolean }) {
  return (
    <ol className="space-y-4">
      {steps.map(({ text, code }, i) => (
        <li key={text}>
          <p className="text-soft">{in_order ? `${i + 1}. ${text}` : text}</p>
          {code !== undefined && (
            <div className="mt-1.5">
              <Snippet name={`step ${i + 1}`} text={code} />
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

const ASK_BEFORE = "Also ask me before it runs something";

/** What it means that a client sends its permission prompts. */
const meaningOf = (client: string): string =>
  `When ${client} would ask you at its terminal, it asks here and on your phone too, and you see the whole command. If you don't answer, the terminal decides. Whoever can answer your questions can then allow commands.`;

interface AskBeforeProps {
  readonly setUp: SetUp;
  /** Where to run the lines, after a blank; empty for this computer. */
  readonly where: string;
}

/** For a client that asks for access: what sends its permission prompts to the person too, if they want that. */
export function AskBefore({ setUp, where }: AskBeforeProps) {
  const [open, setOpen] = useState(false);
  const { client, withoutKey } = setUp;
  return (
    <div>
      <Button variant="quiet" className="-ml-4" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronDown
          aria-hidden
          className={classes("size-4.5 transition-transform", open && "rotate-180")}
        />
        {ASK_BEFORE}
      </Button>
      {open && (
        <div className="mt-2 space-y-4">
          <p className="text-soft">{meaningOf(client)}</p>
          <p className="text-soft">
            {`If you didn't choose that under New agent: deny this request, and run the following${where}. It asks for access again.`}
          </p>
          <Steps steps={withoutKey(baseAddress(), true)} in_order />
          <ByRelay setUp={setUp} />
        </div>
      )}
    </div>
  );
}

/** How `relay connect` does the same, and where to get `relay`. */
function ByRelay({ setUp }: { setUp: SetUp }) {
  const { text, code } = relayConnect(setUp.relay_name!, baseAddress());
  return (
    <div>
      <p className="text-soft">{text}</p>
      <div className="mt-1.5">
        <Snippet name="command" text={code} />
      </div>
    </div>
  );
}

const OTHER = SET_UPS.at(-1)!.client;

/** Whether the agent has sent a request, and what the person can do next. */
export function Connection({ agent }: { agent: Key }) {
  const { last_client, last_host, last_used_at } = agent;
  const used = last_used_at !== null || last_client !== null || last_host !== null;
  return (
    <div className="space-y-5">
      <div role="status">
        {used ? (
          <p className="flex items-start gap-2.5 rounded-xl bg-ok-soft px-4 py-3 font-medium text-ok">
            <CircleCheck aria-hidden className="mt-0.5 size-5 shrink-0" />
            <span className="said min-w-0">
              Connected
              {last_client && <bdi>{`: ${clientName(last_client)}`}</bdi>}
              {last_host !== null && (
                <>
                  {" on "}
                  <bdi>{last_host}</bdi>
                </>
              )}
            </span>
          </p>
        ) : (
          <Waiting>Waiting for its first request…</Waiting>
        )}
      </div>
      {used ? <FirstQuestion agent={agent} /> : <LookForUse />}
    </div>
  );
}

function LookForUse() {
  useLastUse(LOOK_EVERY);
  return null;
}

/** A line that says what is awaited. */
export function Waiting({ children }: { children: string }) {
  return (
    <p className="flex items-center gap-2.5 rounded-xl bg-accent-soft px-4 py-3 text-accent">
      <span aria-hidden className="mx-1.5 size-2 shrink-0 animate-pulse rounded-full bg-current" />
      {children}
    </p>
  );
}

/** A message with which the agent asks a first question, then a link to that question. */
function FirstQuestion({ agent }: { agent: Key }) {
  const asks = useStore((store) => store.pending().some(({ key_id }) => key_id === agent.id));
  if (asks) {
    return (
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1">It's asking you a question.</p>
        <ButtonLink variant="primary" href="#/questions">
          Answer
          <ArrowRight aria-hidden className="size-4.5" />
        </ButtonLink>
      </div>
    );
  }
  return (
    <div>
      <p className="mb-1.5 text-soft">To try it, paste this into the agent:</p>
      <Snippet prose name="first message" text={FIRST_QUESTION} />
    </div>
  );
}
