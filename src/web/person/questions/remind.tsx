/** Buttons that let a pending question ring again later (§5.7.10). */

import { Bell } from "lucide-react";
import { faultOf, type Question } from "../../state/api.ts";
import { Button } from "../../ui/button.tsx";
import { momentOf } from "../../ui/time.ts";
import { announceResult, toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { useNow } from "../../ui/use-now.ts";
import { useSession } from "../use-store.ts";

/** Seconds before the end of a question at which a reminder rings at the latest: `nudge_left` of §14.6. */
const LEFT = 120;

/** Texts of the buttons with their minutes. The last possible time is shown as what it is. */
function choices(expires_at: number, now: number): (readonly [string, number])[] {
  const latest = expires_at - LEFT;
  const room = latest - now;
  if (room < 60) return [];
  if (room <= 600) return [[`At ${momentOf(latest, now)}`, 10]];
  return [
    ["In 10 min", 10],
    [room < 3_600 ? `At ${momentOf(latest, now)}` : "In 1 hour", 60],
  ];
}

export function Remind({ question }: { question: Question }) {
  const { api, store } = useSession();
  const { busy, run } = useAction();
  const now = useNow(15);
  const { id, expires_at, remind_at } = question;
  const offered = choices(expires_at, now);
  const is_set = remind_at !== undefined && remind_at > now;
  if (offered.length === 0 && !is_set) return null;
  const remind = (minutes: number) =>
    run(async () => {
      try {
        const next = await api.questions.remind.mutate({ question_id: id, minutes });
        store.put("questions", next);
        announceResult(`It rings again at ${momentOf(next.remind_at ?? now, now)}`);
      } catch (error) {
        toast(faultOf(error).message, { bad: true });
      }
    });
  return (
    <fieldset
      aria-labelledby={`${id}-remind`}
      className="flex min-w-0 flex-wrap items-center gap-x-1 text-soft text-sm"
    >
      <span id={`${id}-remind`} className="flex items-center gap-1.5 pr-1">
        <Bell aria-hidden className="size-4 shrink-0" />
        {is_set ? `Reminder at ${momentOf(remind_at, now)}` : "Remind me"}
      </span>
      {offered.map(([name, minutes]) => (
        <Button
          key={name}
          variant="quiet"
          className="px-2.5 text-sm"
          disabled={busy}
          onClick={() => void remind(minutes)}
        >
          {name}
        </Button>
      ))}
    </fieldset>
  );
}
