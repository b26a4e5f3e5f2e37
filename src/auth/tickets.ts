/** Tickets: credentials in notifications, each for one question and one channel (§19.7). */

import { ticketFacts } from "../../db/credentials.ts";
import type { Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import { blocked } from "../errors.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { TicketCaller } from "../model/caller.ts";
import type { Signer } from "../signer.ts";

interface Subject {
  readonly question_id: string;
  readonly channel_id: string;
}

const PURPOSE = "ticket";
/** 32 bytes of ids, then a digest of 32 bytes, each in 43 characters. */
const TICKET = /^[Bb][Ee][Aa][Rr][Ee][Rr] +(mcq_([\w-]{43})([\w-]{43}))$/;
/** An id without its prefix. */
const ID = /^(qst|chn)_([0-9a-f]{32})$/;

/** True if an `Authorization` header has the form of a ticket, valid or not. */
export const isTicket = (header: string | null): boolean => header !== null && TICKET.test(header);

const signed = ({ question_id, channel_id }: Subject) => `${question_id}.${channel_id}`;

const bytesOf = (id: string): Buffer => Buffer.from(ID.exec(id)?.[2] ?? "", "hex");

/** The ticket of a channel for a question. Every process makes the same one. */
export function createTicket(signer: Signer, subject: Subject): string {
  const { question_id, channel_id } = subject;
  const ids = Buffer.concat([bytesOf(question_id), bytesOf(channel_id)]).toString("base64url");
  return `mcq_${ids}${signer.sign(PURPOSE, signed(subject))}`;
}

export type Tickets = ReturnType<typeof createTickets>;

interface TicketsOptions {
  readonly store: Pick<Store, "read">;
  readonly signer: Signer;
  readonly clock: Pick<Clock, "now">;
}

export function createTickets({ store, signer, clock }: TicketsOptions) {
  /** Null once the ticket has ended: with its channel, key or account, or some time after its question. */
  const read = async ({ question_id, channel_id }: Subject) => {
    const [facts] = await store.read(ticketFacts({ question_id, channel_id }));
    const ended_at = facts?.answered_at ?? facts?.cancelled_at ?? facts?.expires_at ?? 0;
    return facts && clock.now() < ended_at + LIMITS.ticket_life ? facts : null;
  };
  /** As {@link read}, and null while the account is blocked (§4.4.1). */
  const find = async (subject: Subject) => {
    const found = await read(subject);
    return found?.blocked_at === null ? found : null;
  };

  return {
    /** The caller of a header with a ticket; null if the ticket is not valid or has ended. */
    async authenticate(header: string): Promise<TicketCaller | null> {
      const [, ticket, ids = "", mark = ""] = TICKET.exec(header) ?? [];
      const bytes = Buffer.from(ids, "base64url");
      // The last character has unused bits, so other texts would decode to the same bytes.
      if (ticket === undefined || bytes.toString("base64url") !== ids) return null;
      const subject = {
        question_id: `qst_${bytes.toString("hex", 0, 16)}`,
        channel_id: `chn_${bytes.toString("hex", 16)}`,
      };
      if (!signer.verify(PURPOSE, signed(subject), mark)) return null;
      const found = await find(subject);
      if (!found) return null;
      return {
        kind: "ticket",
        account_id: found.account_id,
        credential: digest(ticket),
        ...subject,
      };
    },

    /**
     * The caller that a channel is for a question, by whatever credential it proved that; null as above. Throws
     * `403 forbidden` while the account is blocked (§4.4).
     */
    async callerOf(subject: Subject): Promise<TicketCaller | null> {
      const found = await read(subject);
      if (!found) return null;
      if (found.blocked_at !== null) throw blocked();
      const { question_id, channel_id } = subject;
      const credential = digest(createTicket(signer, subject));
      return { kind: "ticket", account_id: found.account_id, credential, question_id, channel_id };
    },

    isLive: async (subject: Subject): Promise<boolean> => (await find(subject)) !== null,
  };
}
