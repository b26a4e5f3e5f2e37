/**
 * Notifications on this device: a button where the browser supports push, else the reason why not.
 */

import { BellOff, BellRing } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { faultOf } from "../../../state/api.ts";
import { NotSubscribed, serverKey, subscribe, unsubscribe } from "../../../state/push.ts";
import { onPushChannel, pushChannelId } from "../../../state/push-channel.ts";
import { Button } from "../../../ui/button.tsx";
import { Switch } from "../../../ui/field.tsx";
import { Problem, Skeleton } from "../../../ui/parts.tsx";
import { announceResult } from "../../../ui/toast.tsx";
import { useLoaded } from "../../../ui/use-loaded.ts";
import { notificationState, setNotifications } from "../../questions/notifications.ts";
import { useSession, useStore } from "../../use-store.ts";
import { HomeScreen } from "./home-screen.tsx";
import { howToAllow, type PushSupport, pushSupport } from "./push-support.ts";

export function ThisDevice() {
  const [support, setSupport] = useState(pushSupport);
  const check = useCallback(() => setSupport(pushSupport()), []);
  // The person may have changed the permission in the browser's settings.
  useEffect(() => {
    window.addEventListener("focus", check);
    return () => window.removeEventListener("focus", check);
  }, [check]);
  return support === "supported" ? <Push onPermission={check} /> : <Impossible why={support} />;
}

/** Turns push on or off. `onPermission`: called after the browser has asked the person. */
function Push({ onPermission }: { readonly onPermission: () => void }) {
  const { api } = useSession();
  const live = useStore((store) => store.connection() === "live");
  const loads = useStore((store) => store.loads());
  const { value: server, fault } = useLoaded(loads, async () => ({ key: await serverKey(api) }));
  /** The server's push key; undefined until it has responded; null: it does not send web pushes. */
  const key = server?.key;
  const [busy, setBusy] = useState(false);
  const has_channel = useSyncExternalStore(onPushChannel, pushChannelId) !== null;
  const on = has_channel && Notification.permission === "granted";
  const [problem, setProblem] = useState<string | null>(null);

  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setProblem(null);
    try {
      await work();
    } catch (error) {
      const { message, fields } = faultOf(error);
      // Such as what the push service needs from the operator.
      const refused = fields.subscription && `The subscription ${fields.subscription}.`;
      setProblem(error instanceof NotSubscribed ? NO_SERVICE : (refused ?? message));
    } finally {
      setBusy(false);
    }
  };
  const start = (with_key: Uint8Array<ArrayBuffer>) =>
    run(async () => {
      // Where the push service fails, the page itself shows notifications while it is open.
      await setNotifications(true);
      onPermission();
      if (Notification.permission !== "granted") return;
      await subscribe(api, with_key);
      announceResult("Notifications are on");
    });
  const stop = () =>
    run(async () => {
      await unsubscribe(api);
      await setNotifications(false);
    });

  if (key === undefined && !on) {
    if (fault) return <Problem>{fault.message}</Problem>;
    return live ? <Skeleton rows={1} label="Loading notifications" /> : <PageOnly />;
  }
  if (key === null) {
    return (
      <div className="space-y-3">
        <NotOnServer />
        <PageOnly />
      </div>
    );
  }
  return (
    <div className="space-y-3">
      {on ? (
        <>
          <p className="flex gap-2">
            <BellRing aria-hidden className="mt-0.5 size-5 shrink-0 text-ok" />
            <span>You get notifications here even while Relay is closed.</span>
          </p>
          <Button busy={busy} onClick={() => void stop()}>
            <BellOff aria-hidden className="size-4.5" />
            Stop notifying this device
          </Button>
        </>
      ) : (
        <>
          <Button
            variant="primary"
            className="w-full sm:w-auto"
            busy={busy}
            onClick={() => key && void start(key)}
          >
            <BellRing aria-hidden className="size-4.5" />
            Notify this device
          </Button>
          <p className="text-faint text-sm">
            You get notifications of questions and tasks here even while Relay is closed. A question
            with two answers can be answered from its notification.
          </p>
        </>
      )}
      {problem !== null && <Problem>{problem}</Problem>}
    </div>
  );
}

const NO_SERVICE =
  "Your browser couldn't reach its notification service, so you get notifications only while this page is open. Try again later, or add an ntfy channel.";

/** The server has Web Push turned off. */
export const NotOnServer = () => (
  <Note title="This server can't notify browsers">
    <p>
      {`The server's operator can change that: set PUBLIC_URL to an https address, such as the address of this page, ${location.origin}.`}
    </p>
  </Note>
);

export function Impossible({ why }: { why: Exclude<PushSupport, "supported"> }) {
  switch (why) {
    case "unsupported":
      return <PageOnly />;
    case "insecure":
      return (
        <Note title="This address can't notify you">
          <p>
            Browsers allow notifications over HTTPS only. Open Relay at an address that begins with
            https, or at http://localhost on the machine it runs on. The channels below work at any
            address.
          </p>
        </Note>
      );
    case "home screen":
      return (
        <Note title="Notify this device">
          <HomeScreen />
        </Note>
      );
    case "outdated":
      return (
        <Note title="This version of iOS can't notify you">
          <p>
            iPhone and iPad show notifications of web apps from iOS 16.4 on. Update this device, or
            use a channel below.
          </p>
        </Note>
      );
    case "blocked":
      return (
        <Note title="Notifications are blocked">
          <p>Your browser blocks notifications from this page. To allow them:</p>
          <ol className="mt-2 list-decimal space-y-1 pl-5">
            {howToAllow().map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
        </Note>
      );
  }
}

function Note({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <h3 className="mb-1 flex items-center gap-2 font-medium">
        <BellOff aria-hidden className="size-5 shrink-0 text-faint" />
        {title}
      </h3>
      <div className="text-soft">{children}</div>
    </div>
  );
}

/** Setting for the notifications that the page itself shows, where there is no push. */
function PageOnly() {
  const [state, setState] = useState(notificationState);
  const hints: Readonly<Partial<Record<typeof state, string>>> = {
    blocked: "Your browser blocks notifications from this page.",
    unsupported: "Not available in this browser.",
  };
  const choose = async (on: boolean) => {
    await setNotifications(on);
    setState(notificationState());
  };
  return (
    <Switch
      label="Notifications for new questions"
      hint={hints[state] ?? "Shown while this page is open, even in the background."}
      checked={state === "on"}
      disabled={state in hints}
      onChange={({ target }) => void choose(target.checked)}
    />
  );
}
