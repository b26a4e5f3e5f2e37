/** The account: what this browser does for it, its token, its devices, and its end. */

import { KeyRound, LogOut, RefreshCw, Smartphone, Trash2 } from "lucide-react";
import {
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { type Device, type Fault, faultOf } from "../state/api.ts";
import { newKeySecret, onNewKeySecret } from "../state/new-key-secrets.ts";
import { leave, replaceToken, signOut, tokenInDoubt } from "../state/session.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Switch } from "../ui/field.tsx";
import { Ago, Badge, Facts, Heading, Problem } from "../ui/parts.tsx";
import { Secret } from "../ui/secret.tsx";
import { toast } from "../ui/toast.tsx";
import { type NotificationState, notificationState, setNotifications } from "./notifications.ts";
import { useSession, useStore } from "./use-store.ts";

export function AccountView() {
  return (
    <>
      <Heading>Account</Heading>
      <div className="space-y-4">
        <Settings />
        <Token />
        <Devices />
        <End />
      </div>
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card p-5">
      <h2 className="mb-4 font-semibold text-base">{title}</h2>
      {children}
    </section>
  );
}

const NOTICE_HINTS: Readonly<Record<NotificationState, string>> = {
  on: "While this page is open, also in the background.",
  off: "While this page is open, also in the background.",
  blocked: "The browser has them blocked for this page.",
  unsupported: "This browser has none for this page: they need https.",
};

function Settings() {
  const { api, store } = useSession();
  const account = useStore((one) => one.account());
  const [notices, setState] = useState(notificationState);
  const choose = async (on: boolean) => {
    await setNotifications(on);
    setState(notificationState());
  };
  const setLive = async (live_activities: boolean) => {
    if (!account) return;
    // It moves at once, and back when the server did not take it.
    store.setAccount({ ...account, settings: { live_activities } });
    try {
      store.setAccount(await api.accounts.update.mutate({ settings: { live_activities } }));
    } catch (error) {
      store.setAccount(account);
      toast(faultOf(error).message, { bad: true });
    }
  };
  return (
    <Part title="Settings">
      <div className="space-y-4">
        <Switch
          label="Notifications of new questions"
          hint={NOTICE_HINTS[notices]}
          checked={notices === "on"}
          disabled={notices === "blocked" || notices === "unsupported"}
          onChange={({ target }) => void choose(target.checked)}
        />
        <Switch
          label="Live activities"
          hint="Tasks in progress show on the lock screen of your devices."
          checked={account?.settings.live_activities ?? false}
          disabled={account === null}
          onChange={({ target }) => void setLive(target.checked)}
        />
      </div>
    </Part>
  );
}

function Token() {
  const { token } = useSession();
  const account = useStore((store) => store.account());
  const [replacing, setReplacing] = useState(false);
  // Another one than before only with a new session, which shows this anew.
  const next = tokenInDoubt();
  const replace = async () => {
    await replaceToken();
    toast("The token is replaced");
  };
  return (
    <Part title="Token">
      <p className="mb-3 text-soft">
        Copy it to sign in elsewhere. Whoever has it has the whole account.
      </p>
      <Secret text={token} name="account token" hidden />
      {next !== null && (
        <div className="mt-3 space-y-3">
          <Problem>
            It is not known whether this one has taken its place. Keep both, and go on replacing.
          </Problem>
          <Secret text={next} name="new account token" hidden />
        </div>
      )}
      <Button look="quiet" onClick={() => setReplacing(true)}>
        <RefreshCw aria-hidden className="size-4" />
        {next === null ? "Replace the token" : "Go on replacing the token"}
      </Button>
      {account && (
        <div className="mt-4 border-line border-t pt-4">
          <Facts
            facts={[
              [
                "Account",
                <code key="a" className="font-mono text-[0.8125rem]">
                  {account.id}
                </code>,
              ],
              ["Created", <Ago key="c" at={account.created_at} />],
            ]}
          />
        </div>
      )}
      <Confirm
        open={replacing}
        onClose={() => setReplacing(false)}
        title="Replace the token?"
        action="Replace token"
        onConfirm={replace}
      >
        This browser goes on with a new one. Every other browser and device is signed out.
      </Confirm>
    </Part>
  );
}

function Devices() {
  const { api } = useSession();
  const [devices, setDevices] = useState<readonly Device[] | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [removing, setRemoving] = useState<Device | null>(null);
  const loads = useStore((store) => store.loads());
  /** Counts the lists that were asked for: only what the last one holds is shown. */
  const asked = useRef(0);
  const load = useCallback(async () => {
    const mine = ++asked.current;
    const list = await api.devices.list.query({}).catch(faultOf);
    if (mine !== asked.current) return;
    if ("devices" in list) setDevices(list.devices);
    setFault("devices" in list ? null : list);
  }, [api]);
  // No event tells of devices, so they come with everything else after each connect.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each time is a new one.
  useEffect(() => void load(), [load, loads]);
  const remove = async ({ id }: Device) => {
    try {
      await api.devices.delete.mutate({ device_id: id });
      setDevices((before) => before?.filter((one) => one.id !== id) ?? null);
    } finally {
      // It may be removed though the answer is lost.
      void load();
    }
  };
  return (
    <Part title="Devices">
      {fault && <Problem>{fault.message}</Problem>}
      {devices?.length === 0 && (
        <p className="text-soft">None. A phone or tablet shows here once its app is signed in.</p>
      )}
      <ul className="divide-y divide-line">
        {devices?.map((device) => (
          <li key={device.id} className="flex items-center gap-3 py-2">
            <Smartphone aria-hidden className="size-5 shrink-0 text-soft" />
            <div className="min-w-0 flex-1">
              <p className="said font-medium">{device.model}</p>
              <p className="said text-faint text-sm">
                {`${device.platform} ${device.os_version}, app ${device.app_version}, `}
                <Ago at={device.updated_at} />
              </p>
            </div>
            {device.apns_token !== null && <Badge tone="ok">Pushes</Badge>}
            <IconButton label={`Remove ${device.model}`} onClick={() => setRemoving(device)}>
              <Trash2 aria-hidden className="size-4.5" />
            </IconButton>
          </li>
        ))}
      </ul>
      <Confirm
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={
          <>
            Remove <bdi>{removing?.model ?? "the device"}</bdi>?
          </>
        }
        action="Remove device"
        onConfirm={() => remove(removing!)}
      >
        It gets no more notifications, until its app registers it again.
      </Confirm>
    </Part>
  );
}

function End() {
  const { api } = useSession();
  const [leaving, setLeaving] = useState(false);
  const fresh = useSyncExternalStore(onNewKeySecret, newKeySecret);
  const [deleting, setDeleting] = useState(false);
  const signOutHere = async () => {
    const done = await signOut().catch(() => {
      throw new Error("it is not known which token is valid");
    });
    if (done) return;
    toast("The token was being replaced. Copy the new one before you sign out.", { bad: true });
  };
  const remove = async () => {
    await api.accounts.delete.mutate({});
    await leave("deleted");
  };
  return (
    <div className="flex flex-wrap gap-3">
      <Button onClick={() => setLeaving(true)}>
        <LogOut aria-hidden className="size-4" />
        Sign out
      </Button>
      <Button look="warning" onClick={() => setDeleting(true)}>
        <Trash2 aria-hidden className="size-4" />
        Delete account
      </Button>
      <Confirm
        open={leaving}
        onClose={() => setLeaving(false)}
        title="Sign out of this browser?"
        action="Sign out"
        onConfirm={signOutHere}
      >
        <p className="flex gap-2">
          <KeyRound aria-hidden className="mt-0.5 size-5 shrink-0" />
          Without the token nobody gets into the account again. Make sure that you have it elsewhere
          {fresh && ", and the key of the new agent, which is shown this once"}.
        </p>
      </Confirm>
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title="Delete the account?"
        action="Delete everything"
        onConfirm={remove}
      >
        All agents lose their keys at once, and all tasks, questions and devices are deleted.
        Nothing of it can be brought back.
      </Confirm>
    </div>
  );
}
