/** The numbers of look-ups of host names (docs/interface.md §11.6.5). */

/** Seconds unless the name says otherwise. */
export const LOOK_UP = {
  /** From the call to the addresses, the wait for a turn included. */
  seconds: 5,
  /** The first wait for a name server that has not answered yet; it grows with each round. */
  first_try: 1.5,
  /** Rounds through the name servers: a server that is usually fast is given 5 s in all. */
  tries: 4,
  /** How long the addresses of one family wait for those of the other. */
  other_family: 0.5,
  /** Until the connection to the name servers is made anew, and what it remembers is dropped. */
  renew_every: 60,
  /** Look-ups of one account under way at once, and of all accounts. */
  per_account: 8,
  in_all: 512,
  /** Look-ups of one account that wait for a turn; one more fails at once. */
  waiting: 64,
  /** Processes that ask the other name services of this machine, at once. */
  processes: 4,
  /** Hosts that requests are sent to often, whose addresses are remembered. */
  known_hosts: 1_000,
  /** How long their addresses are remembered. */
  known_for: 30,
} as const;
