/**
 * Limits per hour: of the uses of a row, counted in the store over all processes (§10.6.1), and of what an account
 * makes Relay send to addresses of its choice, such as the test of a webhook or the request for a client's
 * document (§10.6.8).
 */

import { addressUses } from "../../../db/accounts.ts";
import type { usesOf } from "../../../db/hourly-limits.ts";
import { fail } from "../../errors.ts";
import { ADDRESS_USES, RATES, type Rate } from "../../limits.ts";
import type { ServiceDeps } from "./deps.ts";

/** The row that has the counter. */
interface CounterRow {
  readonly id: string;
  readonly account_id: string;
}

/**
 * Returns a function that counts one use of a row: true, false if there is no such row, or `429 rate_limited` above
 * `quota` uses within the window. A quota of 0 allows everything. `what`: the beginning of the error's `detail`,
 * such as "A channel can be tested".
 */
export function createUseLimit(
  { store, clock }: Pick<ServiceDeps, "store" | "clock">,
  uses: ReturnType<typeof usesOf<CounterRow>>,
  { window }: Rate,
  quota: number,
  what: string,
) {
  return async (row: CounterRow): Promise<boolean> => {
    if (quota === 0) return true;
    const values = { ...row, now_ms: Math.round(clock.now() * 1000) };
    const [counted] = await store.write([uses.count({ ...values, limit: quota })]);
    if (counted!.changes > 0) return true;
    const [found] = await store.read(uses.first(values));
    if (!found) return false;
    const since = found[0] === null ? 0 : (values.now_ms - found[0]) / 1000;
    const retry_after = Math.max(1, Math.ceil(window - since));
    const detail = `${what} at most ${quota} times in an hour.`;
    return fail("rate_limited", { detail, retry_after });
  };
}

interface Host {
  /** The end of the hour, by {@link Clock.elapsed}. */
  readonly until: number;
  uses: number;
  readonly of_account: Map<string, number>;
}

interface AddressUse {
  readonly account_id: string;
  /** Name and port. */
  readonly host: string;
}

export type AdmitAddressUse = ReturnType<typeof createAddressUses>;

/**
 * Returns a function that counts one use of an address: true, false if there is no such account, or
 * `429 rate_limited` above the limit of the account, or above that of the host unless the account is new to it.
 * `is_on`: false counts nothing.
 */
export function createAddressUses(
  { store, clock, is_on }: Pick<ServiceDeps, "store" | "clock"> & { readonly is_on: boolean },
  { quota, window }: Rate = RATES.address_uses,
) {
  const what = "An account can make the server send something to addresses of its choice";
  const on = is_on ? quota : 0;
  const admit = createUseLimit({ store, clock }, addressUses, { quota, window }, on, what);
  const hosts = new Map<string, Host>();

  const hostOf = (name: string): Host => {
    const known = hosts.get(name);
    if (known && known.until > clock.elapsed()) return known;
    const host = { until: clock.elapsed() + window, uses: 0, of_account: new Map() };
    hosts.delete(name);
    if (hosts.size >= ADDRESS_USES.hosts) hosts.delete(hosts.keys().next().value!);
    hosts.set(name, host);
    return host;
  };

  return async ({ account_id, host: name }: AddressUse): Promise<boolean> => {
    if (!is_on) return true;
    const host = hostOf(name);
    const own = host.of_account.get(account_id) ?? 0;
    // A host that others have used up still admits an account that has hardly used it.
    if (host.uses >= ADDRESS_USES.per_host && own >= ADDRESS_USES.first) {
      const retry_after = Math.max(1, Math.ceil(host.until - clock.elapsed()));
      const detail = `This server has sent too many tests to the host within an hour.`;
      fail("rate_limited", { detail, retry_after });
    }
    const count = (n: 1 | -1) => {
      host.uses += n;
      host.of_account.set(account_id, (host.of_account.get(account_id) ?? 0) + n);
    };
    // Counted before it is admitted, so that simultaneous requests count too.
    count(1);
    let admitted = false;
    try {
      admitted = await admit({ id: account_id, account_id });
      return admitted;
    } finally {
      if (!admitted) count(-1);
    }
  };
}
