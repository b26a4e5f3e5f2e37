/** A test notification: its outcome, the time of each step, and whether the person has answered it. */

import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { every, now } from "../../../clock.ts";
import { onWorkerMessage } from "../../../messages.ts";
import type { Fault, TestOutcome } from "../../../state/api.ts";
import { duration, timeWithSeconds } from "../../../ui/time.ts";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { useSession } from "../../use-store.ts";
import { faultText } from "./channel-words.ts";

interface TestProps {
  readonly id: string;
  /**
   * True: it is this browser's own channel, whose service worker reports when it has shown the
   * test.
   */
  readonly is_here: boolean;
  readonly onDone: () => void;
  /** Called once the person has answered it. */
  readonly onReached?: () => void;
}

/** Seconds between two looks whether the test was answered: it may be answered at another process. */
const LOOK_EVERY = 1;

/** Sends a test when it is mounted, and shows the outcome. */
export function ChannelTest({ id, is_here, onDone, onReached }: TestProps) {
  const { api } = useSession();
  const [shown_at, setShown] = useState<number | null>(null);
  useEffect(
    () =>
      onWorkerMessage((message) => {
        if (is_here && message.type === "tested" && message.tag === id) setShown(now());
      }),
    [id, is_here],
  );
  const { value: delivery, fault } = useLoaded(id, () =>
    api.channels.test.mutate({ channel_id: id }).finally(onDone),
  );
  return (
    <div role="status" className="text-sm">
      {delivery ? (
        <>
          <Outcome delivery={delivery} shown_at={shown_at} />
          {delivery.status === "sent" && (
            <Answer id={id} delivery={delivery} is_here={is_here} onReached={onReached} />
          )}
        </>
      ) : fault ? (
        <p className="text-danger">{faultMessage(fault)}</p>
      ) : (
        <p className="text-faint">Sending a test…</p>
      )}
    </div>
  );
}

function faultMessage({ code, message }: Fault): string {
  if (code === "unanswered") return "Couldn't reach the server. The test may have been sent.";
  return message;
}

interface AnswerProps extends Pick<TestProps, "id" | "is_here"> {
  readonly onReached: (() => void) | undefined;
  readonly delivery: TestOutcome;
}

/** Says how to answer the test, until it was answered. */
function Answer({ id, delivery: { queued_at, answer_by }, is_here, onReached }: AnswerProps) {
  const { api } = useSession();
  const [reached_at, setReached] = useState<number | null>(null);
  const [late, setLate] = useState(false);
  const tell = useRef(onReached);
  tell.current = onReached;
  const waits = answer_by !== null && reached_at === null && !late;
  useEffect(() => {
    if (!waits) return undefined;
    let over = false;
    const look = async () => {
      if (now() > answer_by) return setLate(true);
      const found = await api.channels.list.query({}).catch(() => null);
      const at = found?.channels.find((one) => one.id === id)?.reached_at ?? null;
      if (over || at === null || at < queued_at) return undefined;
      setReached(at);
      return tell.current?.();
    };
    const stop = every(LOOK_EVERY, () => void look());
    return () => {
      over = true;
      stop();
    };
  }, [api, id, waits, queued_at, answer_by]);
  if (answer_by === null) {
    return (
      <p className="mt-2 text-soft">
        It has no button to press, so Relay can't tell whether you got it. Look for it on your
        device.
      </p>
    );
  }
  if (reached_at !== null) {
    const ms = Math.max(0, Math.round((reached_at - queued_at) * 1000));
    return (
      <p className="mt-2 flex items-center gap-2 font-medium text-base text-ok">
        <CircleCheck aria-hidden className="size-5 shrink-0" />
        {`Reached you in ${duration(ms)}`}
      </p>
    );
  }
  if (late) return <p className="mt-2 text-warn">This test wasn't answered within 10 minutes.</p>;
  return (
    <div className="mt-2 flex gap-2">
      <LoaderCircle aria-hidden className="mt-0.5 size-5 shrink-0 animate-spin text-accent" />
      <div>
        <p className="font-medium text-base">
          Tap <b className="font-semibold">It works</b> in the notification
        </p>
        <p className="text-soft">
          {is_here
            ? "Some browsers show no button: click the notification itself. If none appears, allow your browser's notifications in the settings of this computer or phone."
            : "If none appears, check that your phone isn't silencing the app, then send another test."}
        </p>
      </div>
    </div>
  );
}

interface OutcomeProps {
  readonly delivery: TestOutcome;
  /** When this browser showed it, epoch seconds; null if it did not. */
  readonly shown_at: number | null;
}

function Outcome({ delivery, shown_at }: OutcomeProps) {
  const { status, reason, queued_at, sent_at } = delivery;
  const sent = status === "sent";
  const Icon = sent ? CircleCheck : CircleX;
  const steps: readonly (readonly [string, number, number | null])[] = [
    ["Queued", queued_at, null],
    ...(sent_at === null ? [] : [["Accepted", sent_at, sent_at - queued_at] as const]),
    ...(shown_at === null ? [] : [["Shown here", shown_at, shown_at - queued_at] as const]),
  ];
  return (
    <div className="flex gap-2">
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${sent ? "text-ok" : "text-danger"}`} />
      <div>
        <p className={sent ? "font-medium text-ok" : "font-medium text-danger"}>
          {sent ? "Test sent" : `Test not sent${reason === null ? "" : `: ${faultText(reason)}`}`}
        </p>
        <ol className="text-faint">
          {steps.map(([name, at, after]) => (
            <li key={name}>
              {`${name} at ${timeWithSeconds(at)}`}
              {after !== null && ` (${duration(Math.max(0, Math.round(after * 1000)))} later)`}
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}
