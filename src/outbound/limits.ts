/** Numbers of the look-up of host names (§11.6.5). */

/** Seconds unless the name says otherwise. */
export const LOOK_UP = {
  /** For a whole look-up, the wait for a turn included. */
  seconds: 5,
  /** The first wait for a name server; it grows with each round. */
  first_try: 1.5,
  /** Rounds through the name servers, which give a usually fast server 5 s in all. */
  tries: 4,
  /** How long the addresses of one family wait for the other family. */
  other_family: 0.5,
  /** Until the resolver is replaced, and what it remembers is dropped. */
  renew_every: 60,
  /** Look-ups of one account under way at once, and of all accounts. */
  per_account: 8,
  in_all: 512,
  /** Look-ups of one account that wait for a turn; one more fails. */
  waiting: 64,
  /** Child processes at once that ask other name services of this machine. */
  processes: 4,
  /** Hosts whose addresses are remembered. */
  known_hosts: 1_000,
  /** How long their addresses are remembered. */
  known_for: 30,
} as const;
