/**
 * Limits how often accounts make Relay send something to an address of their choice: the test of a channel or of a
 * webhook, or the request for a client's document (docs/interface.md §10.6.8).
 */

import { addressUses } from "../../db/accounts.ts";
import { fail } from "../errors.ts";
import { ADDRESS_USES, RATES, type Rate } from "../limits.ts";
import type { ServiceDeps } from "./deps.ts";
import { againIn, createUseLimit } from "./use-limit.ts";

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
 * Returns a function that counts one use: throws `429 rate_limited` above the limit of the account, or above that of
 * the host for an account that has used it lately. False when there is no such account. `is_on`: false counts nothing.
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
    // What many accounts have used up is no reason to refuse one that has hardly used it.
    const is_new = own < ADDRESS_USES.first && host.uses < 2 * ADDRESS_USES.per_host;
    if (host.uses >= ADDRESS_USES.per_host && !is_new) {
      const retry_after = Math.max(1, Math.ceil(host.until - clock.elapsed()));
      const detail = `This server has sent too many tests to the host within an hour. ${againIn(retry_after)}`;
      fail("rate_limited", { detail, retry_after });
    }
    const count = (n: 1 | -1) => {
      host.uses += n;
      host.of_account.set(account_id, (host.of_account.get(account_id) ?? 0) + n);
    };
    // Before it is known: requests at the same time count too.
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
