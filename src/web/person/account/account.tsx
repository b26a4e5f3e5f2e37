/** The account view: browser settings, recovery code, token, devices, sign-out and deletion. */

import { LogOut, RefreshCw, Smartphone, Trash2 } from "lucide-react";
import { useRef, useState } from "react";
import { type Account, type Device, faultOf } from "../../state/api.ts";
import { notifiesDevices } from "../../state/server-url.ts";
import { leave, replaceToken, unconfirmedToken } from "../../state/session.ts";
import { Ago } from "../../ui/ago.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Switch } from "../../ui/field.tsx";
import { Badge, Facts, Heading, Problem, Section } from "../../ui/parts.tsx";
import { Secret } from "../../ui/secret.tsx";
import { toast } from "../../ui/toast.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import { useSession, useStore } from "../use-store.ts";
import { ChannelSettings } from "./channels/channel-settings.tsx";
import { RecoverySettings } from "./recovery/recovery-settings.tsx";
import { SignInList } from "./sign-ins.tsx";
import { SignOut } from "./sign-out.tsx";
import { TrialNote, useTrialEnd } from "./trial.tsx";

export function AccountView() {
  const devices = useDevices();
  // Without an app, nothing of it is shown. The removal of its last device leaves its section.
  const has_app = useRef(notifiesDevices());
  has_app.current ||= (devices.all?.length ?? 0) > 0;
  return (
    <>
      <Heading>Account</Heading>
      <div className="space-y-4">
        <TrialNote what="add devices, make a recovery code, change channels, settings or other sign-ins, or delete the account" />
        <Section title="Notifications">
          <ChannelSettings />
        </Section>
        <Settings has_app={has_app.current} />
        <Section title="Sign-ins">
          <SignInList />
        </Section>
        <RecoverySettings />
        <Token />
        {has_app.current && <Devices {...devices} />}
        <End />
      </div>
    </>
  );
}

function Settings({ has_app }: { readonly has_app: boolean }) {
  const { api, store } = useSession();
  const account = useStore((one) => one.account());
  const in_trial = useTrialEnd() !== null;
  const change = async (settings: Partial<Account["settings"]>) => {
    if (!account) return;
    // Optimistic: switch at once, and back if the server refuses.
    store.setAccount({ ...account, settings: { ...account.settings, ...settings } });
    try {
      store.setAccount(await api.accounts.update.mutate({ settings }));
    } catch (error) {
      store.setAccount(account);
      toast(faultOf(error).message, { bad: true });
    }
  };
  return (
    <Section title="Settings">
      <div className="space-y-4">
        {has_app && (
          <Switch
            label="Live activities"
            hint="Show tasks in progress on the lock screen of your devices."
            checked={account?.settings.live_activities ?? false}
            disabled={account === null || in_trial}
            onChange={({ target }) => void change({ live_activities: target.checked })}
          />
        )}
        <Switch
          label="Nudges"
          hint="A question that nobody has answered rings once more before it expires."
          checked={account?.settings.nudges ?? false}
          disabled={account === null || in_trial}
          onChange={({ target }) => void change({ nudges: target.checked })}
        />
      </div>
    </Section>
  );
}

function Token() {
  const { token } = useSession();
  const account = useStore((store) => store.account());
  const [replacing, setReplacing] = useState(false);
  // Read without a subscription: it changes only with a new session, which renders this again.
  const next = unconfirmedToken();
  const replace = async () => {
    await replaceToken();
    toast("Token replaced");
  };
  return (
    <Section title="Token">
      <p className="mb-3 text-soft">
        For programs that act as you through the API. This browser's token works until you replace
        it or sign out here. Anyone who has it has full access to your account.
      </p>
      <Secret text={token} name="account token" hidden />
      {next !== null && (
        <div className="mt-3 space-y-3">
          <Problem>
            The server hasn't confirmed the new token below. Keep both until you finish replacing
            it.
          </Problem>
          <Secret text={next} name="new account token" hidden />
        </div>
      )}
      <Button variant="quiet" onClick={() => setReplacing(true)}>
        <RefreshCw aria-hidden className="size-4" />
        {next === null ? "Replace token" : "Finish replacing the token"}
      </Button>
      {account && (
        <div className="mt-4 border-line border-t pt-4">
          <Facts
            facts={[
              [
                "Account ID",
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
        title="Replace your token?"
        action="Replace"
        onConfirm={replace}
      >
        This browser gets a new token. Anyone else who uses the old one is signed out. Your other
        sign-ins have their own tokens.
      </Confirm>
    </Section>
  );
}

/** The devices of the account; `all` is null before they are loaded. */
function useDevices() {
  const { api } = useSession();
  const loads = useStore((store) => store.loads());
  // Devices have no events (§7.3.5), so they are read again after each reconnect.
  const { value, setValue, fault, load } = useLoaded(loads, () => api.devices.list.query({}));
  return { all: value?.devices ?? null, setValue, fault, load };
}

/** The names of the systems. */
const SYSTEMS: Readonly<Record<string, string>> = {
  ios: "iOS",
  ipados: "iPadOS",
  watchos: "watchOS",
};

function Devices({ all, setValue, fault, load }: ReturnType<typeof useDevices>) {
  const { api } = useSession();
  const [removing, setRemoving] = useState<Device | null>(null);
  const in_trial = useTrialEnd() !== null;
  const remove = async ({ id }: Device) => {
    try {
      await api.devices.delete.mutate({ device_id: id });
      setValue((before) => before && { devices: before.devices.filter((one) => one.id !== id) });
    } finally {
      // The device may be gone even though the response was lost.
      void load();
    }
  };
  return (
    <Section title="Devices">
      {fault && <Problem>{fault.message}</Problem>}
      {all?.length === 0 && (
        <p className="text-soft">
          No devices yet. Phones and tablets appear here once you sign in to the app.
        </p>
      )}
      <ul className="divide-y divide-line">
        {all?.map((device) => (
          <li key={device.id} className="flex items-center gap-3 py-2">
            <Smartphone aria-hidden className="size-5 shrink-0 text-soft" />
            <div className="min-w-0 flex-1">
              <p className="said font-medium">{device.model}</p>
              <p className="said text-faint text-sm">
                {`${SYSTEMS[device.platform] ?? device.platform} ${device.os_version}, app ${device.app_version}, `}
                <Ago at={device.updated_at} />
              </p>
            </div>
            {device.apns_token !== null && <Badge tone="ok">Notifications on</Badge>}
            {!in_trial && (
              <IconButton label={`Remove ${device.model}`} onClick={() => setRemoving(device)}>
                <Trash2 aria-hidden className="size-4.5" />
              </IconButton>
            )}
          </li>
        ))}
      </ul>
      <Confirm
        open={removing !== null}
        onClose={() => setRemoving(null)}
        title={
          <>
            Remove <bdi>{removing?.model ?? "this device"}</bdi>?
          </>
        }
        action="Remove device"
        onConfirm={() => remove(removing!)}
      >
        It won't get notifications until its app registers it again.
      </Confirm>
    </Section>
  );
}

function End() {
  const { api } = useSession();
  const [leaving, setLeaving] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const in_trial = useTrialEnd() !== null;
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
      {!in_trial && (
        <Button variant="warning" onClick={() => setDeleting(true)}>
          <Trash2 aria-hidden className="size-4" />
          Delete account
        </Button>
      )}
      <SignOut open={leaving} onClose={() => setLeaving(false)} />
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title="Delete your account?"
        action="Delete everything"
        onConfirm={remove}
      >
        All agents lose access immediately, and all tasks and questions are deleted. This can't be
        undone.
      </Confirm>
    </div>
  );
}
