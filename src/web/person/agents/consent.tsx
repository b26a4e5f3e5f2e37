/** A program's request for access, and the person's decision (§18.4). */

import { type ReactNode, useRef, useState } from "react";
import type { Authorization, Fault } from "../../state/api.ts";
import { isTypedCode } from "../../state/pairing.ts";
import { Ago } from "../../ui/ago.tsx";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { useMisclickGuard } from "../../ui/misclick-guard.ts";
import { Facts, FormProblem, Problem, Skeleton } from "../../ui/parts.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useLoaded } from "../../ui/use-loaded.ts";
import { TrialNote, useTrialEnd } from "../account/trial.tsx";
import { Frame } from "../frame.tsx";
import { go } from "../route.ts";
import { useKeyOptions, useSession } from "../use-store.ts";
import { NO_CODE } from "../words.ts";
import { AwaitApproval } from "./await-approval.tsx";
import { baseAddress, useOffersOAuth } from "./base-address.ts";
import { AskBefore } from "./connect.tsx";
import { SET_UPS, type SetUp } from "./set-up.ts";

/**
 * The view of a request. `request`: a signed request, or the code that another device shows; null:
 * the person types the code.
 */
export function Consent({ request }: { request: string | null }) {
  const in_trial = useTrialEnd() !== null;
  if (in_trial && request?.includes(".")) return <AwaitApproval request={request} in_trial />;
  if (in_trial) {
    return (
      <Outcome title="Not on this browser yet">
        <TrialNote what="approve programs" />
      </Outcome>
    );
  }
  return request === null ? <CodeEntry /> : <Request request={request} />;
}

function Request({ request }: { request: string }) {
  const { api } = useSession();
  const { value: asked, fault } = useLoaded(request, () => api.oauth.request.mutate({ request }));
  const [decided, setDecided] = useState<"approved" | "denied" | null>(null);
  if (decided) {
    return (
      <Outcome title={decided === "approved" ? "Access approved" : "Access denied"}>
        You're being sent back to the program. You can close this page.
      </Outcome>
    );
  }
  if (fault) {
    return (
      <Outcome title="This request can't be approved">
        <Problem>{messageOf(fault)}</Problem>
      </Outcome>
    );
  }
  if (!asked) {
    return (
      <Frame title="A program asks for access">
        <div className="mt-6">
          <Skeleton label="Loading the request" />
        </div>
      </Frame>
    );
  }
  return <Decision request={request} asked={asked} onDecided={setDecided} />;
}

function messageOf({ code, fields, message }: Fault): string {
  if (fields.request !== undefined && code === "invalid_fields") {
    return `The program can't be identified. ${fields.request}`;
  }
  if (code === "not_found") {
    return "It isn't valid, was decided already, or is more than 10 minutes old. Start again in the program.";
  }
  return message;
}

function Outcome({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Frame title={title}>
      <div className="mt-4 mb-6 text-soft">{children}</div>
      <ButtonLink href="#/agents">Go to agents</ButtonLink>
    </Frame>
  );
}

interface DecisionProps {
  readonly request: string;
  readonly asked: Authorization;
  readonly onDecided: (decision: "approved" | "denied") => void;
}

/** The request and the two buttons. Neither is the default, so Enter in a field presses none. */
function Decision({ request, asked, onDecided }: DecisionProps) {
  const { api } = useSession();
  const keys = useKeyOptions();
  const approval = useAction();
  const denial = useAction();
  const [key_id, setKeyId] = useState(asked.suggested_key_id ?? "");
  const coding_agent = codingAgentOf(asked.client_name);
  const [label, setLabel] = useState(coding_agent?.client ?? asked.client_name ?? "");
  const content = useRef<HTMLDivElement>(null);
  const guard = useMisclickGuard(content, "to decide");
  const busy = approval.busy || denial.busy;

  const leave = (decision: "approved" | "denied", redirect_to: string | null) => {
    // Replaces the history entry: going back must not show a request that is decided.
    if (redirect_to !== null) {
      onDecided(decision);
      location.replace(redirect_to);
      return;
    }
    toast(`Access ${decision}. The other device continues by itself.`);
    go("agents", { replace: true });
  };
  const approve = () =>
    approval.run(async () => {
      const choice = key_id === "" ? { label } : { key_id };
      const { redirect_to } = await api.oauth.approve.mutate({ request, ...choice });
      leave("approved", redirect_to);
    });
  const deny = () =>
    denial.run(async () => {
      leave("denied", (await api.oauth.deny.mutate({ request })).redirect_to);
    });
  // Elsewhere this page's address is not the one that the client uses.
  const offered = useOffersOAuth(baseAddress());
  const decisions = [["Approve", approval, approve] as const, ["Deny", denial, deny] as const];

  return (
    <Frame title="A program asks for access">
      <div ref={content} onClickCapture={guard} className="mt-6 space-y-5">
        <section className="card p-5">
          <Facts facts={factsOf(asked)} />
        </section>
        <p className="text-soft">
          It will act as the agent you choose: report tasks, ask you questions and read your
          answers. Approve it only if you started this yourself.
        </p>
        <SelectField
          label="Agent"
          value={key_id}
          onChange={({ target }) => setKeyId(target.value)}
          options={[["", "New agent"], ...keys]}
        />
        {key_id === "" && (
          <TextField
            label="Name of the new agent"
            name="label"
            value={label}
            onChange={({ target }) => setLabel(target.value)}
            error={approval.fault?.fields.label}
          />
        )}
        {coding_agent && offered && (
          <AskBefore setUp={coding_agent} where={asked.approval ? " on that computer" : ""} />
        )}
        <FormProblem fault={approval.fault ?? denial.fault} />
        <div className="flex flex-wrap gap-3">
          {decisions.map(([name, action, decide]) => (
            <Button
              key={name}
              data-careful
              busy={action.busy}
              disabled={busy}
              onClick={() => void decide()}
              className="flex-1"
            >
              {name}
            </Button>
          ))}
        </div>
      </div>
    </Frame>
  );
}

/** The coding agent with this name. It may add the name of its entry, as in `Claude Code (relay)`. */
const codingAgentOf = (name: string | null): SetUp | undefined =>
  SET_UPS.find(({ client, relay_name }) => relay_name && `${name} `.startsWith(`${client} `));

function factsOf(asked: Authorization): [string, ReactNode][] {
  const { client_name, client_host, document_host, approval, requested_at } = asked;
  const facts: [string, ReactNode][] = [
    [
      "Calls itself",
      <span key="n">
        {client_name === null ? "Nothing" : <bdi>{client_name}</bdi>}
        <span className="block text-faint text-sm">Not verified</span>
      </span>,
    ],
    [
      "Opens",
      client_host ?? (approval ? "A program on that computer" : "A program on this computer"),
    ],
  ];
  if (document_host !== null) facts.push(["Details from", document_host]);
  if (approval) {
    facts.push(
      ["Asked from", approval.address],
      ["Asked", <Ago key="a" at={requested_at} />],
      [
        "Code",
        <span key="c">
          <strong translate="no" className="font-mono text-lg">
            {approval.code}
          </strong>
          <span className="block text-faint text-sm">Check that the other screen shows it too</span>
        </span>,
      ],
    );
  }
  return facts;
}

/** The form for a person who types the code instead of scanning it. */
function CodeEntry() {
  const [code, setCode] = useState("");
  const [wrong, setWrong] = useState(false);
  return (
    <Frame title="Approve access by code">
      <form
        className="mt-6 space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          const typed = code.replace(/[^\p{L}\p{N}]/gu, "");
          setWrong(!isTypedCode(typed));
          if (isTypedCode(typed)) go(`approve/${typed}`);
        }}
      >
        <TextField
          label="Code"
          name="code"
          placeholder="XXXX-XXXX"
          value={code}
          onChange={({ target }) => setCode(target.value)}
          hint="The waiting browser shows it. You decide in the next step."
          error={wrong ? NO_CODE : undefined}
        />
        <div className="flex gap-3">
          <Button type="submit" variant="primary">
            Continue
          </Button>
          <ButtonLink variant="quiet" href="#/agents">
            Cancel
          </ButtonLink>
        </div>
      </form>
    </Frame>
  );
}
