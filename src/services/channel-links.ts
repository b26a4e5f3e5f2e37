/** Links by which a person adds a channel from within its service, such as a chat with a bot (§19.2.7). */

import {
  deleteRelinkedChannel,
  endConfirmedLink,
  endOldestLinks,
  insertLink,
  insertLinkedChannel,
  linkByCode,
  linkById,
  visitLink,
} from "../../db/channel-links.ts";
import { sealSecret } from "../../db/channel-secrets.ts";
import { channelById, insertTarget, NEW_CHANNEL } from "../../db/channels.ts";
import type { Statement } from "../../db/store/store.ts";
import { PLACES } from "../../db/store/vault.ts";
import { fail, failFields, failNotFound } from "../errors.ts";
import { hostOf } from "../host-names.ts";
import { digest } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Channel, ChannelLink, ChannelLinkInput } from "../model/channel.ts";
import { isBlank } from "../model/text.ts";
import type { ChannelLinks, Channel as LaneChannel } from "../notify/core/channel.ts";
import type { LinkVisitor, ReplyEvent, ReplyOutcome } from "../notify/replies/source.ts";
import { hintOf, toChannel } from "./channels.ts";
import { untilDecided } from "./shared/commit.ts";
import { CLOCKS_DIFFER, readOwn, type ServiceDeps } from "./shared/deps.ts";
import type { AdmitAddressUse } from "./shared/use-limits.ts";

/** A channel that is added by links, as far as this process has it. */
export interface LinkedChannel {
  readonly lane: string;
  readonly links: ChannelLinks;
  readonly replies: NonNullable<LaneChannel["replies"]>;
}

interface ChannelLinksDeps
  extends Pick<
    ServiceDeps,
    "store" | "clock" | "ids" | "signer" | "assertLive" | "assertPastTrial" | "wakeSender"
  > {
  readonly admitAddressUse: AdmitAddressUse;
  /** The channel of a type; undefined for one that is not added by links. */
  readonly linkedChannel: (type: string) => LinkedChannel | undefined;
}

type LinkEvent = Extract<ReplyEvent, { kind: "link" }>;
type Row = ReturnType<typeof linkById> extends Statement<infer R> ? R : never;

/** What the person who opened a link is told: whoever made the link could have sent it to anybody. */
const OPENED =
  "If you made this link in Relay, go back there and confirm that this is you. From then on, questions and tasks of " +
  "the account that made it come to this chat, and what you answer here counts as its answer. " +
  "If you did not make it, do nothing here, and block this bot. Blocking it also stops the messages at any later time.";

export function createChannelLinks(deps: ChannelLinksDeps) {
  const { store, clock, ids, signer, assertLive, assertPastTrial, linkedChannel } = deps;
  const { vault } = store;

  /** The code of a link follows from its id, so the store has only the digest. */
  const codeOf = (link_id: string): string => signer.sign("channel_link", link_id);

  const channelOf = (type: string): LinkedChannel =>
    linkedChannel(type) ?? failFields({ type: "is off on this server" });

  const find = async (caller: AccountCaller, id: string): Promise<Row> => {
    const { account_id } = caller;
    const row = await readOwn(deps, caller, linkById({ id, account_id }), "link_id");
    return assertOpen(row);
  };

  const assertOpen = (row: Row): Row => {
    const now = clock.now();
    if (row.expires_at <= now || row.created_at > now + CLOCKS_DIFFER) failNotFound("link_id");
    return row;
  };

  const toLink = ({ id, expires_at, visitor }: Row, link: string): ChannelLink => ({
    id,
    link,
    expires_at,
    from: visitor && { name: visitor.name, username: visitor.username },
  });

  return {
    /**
     * Makes a link, and ends the oldest of the account beyond its limit. `403 forbidden` in the caller's trial;
     * `422 fields.type`, `fields.token`; `429 rate_limited` (§10.6.8).
     */
    async create(
      caller: AccountCaller,
      { type, label, token }: ChannelLinkInput,
    ): Promise<ChannelLink> {
      const { account_id, session_id } = caller;
      const { links, replies } = channelOf(type);
      await assertPastTrial(caller);
      const { host } = links;
      if (!(await deps.admitAddressUse({ account_id, host }))) await assertLive(caller);
      const begun = await links.begin(token ?? null, account_id);
      if ("fields" in begun) return failFields(begun.fields);
      const { address } = begun;
      const id = ids.next("lnk");
      const created_at = clock.now();
      const row = {
        id,
        account_id,
        session_id,
        type,
        label,
        listener: replies.keyOf(address) ?? "",
        address: vault.seal(PLACES.address(id), address),
        code_digest: digest(codeOf(id)),
        visitor: null,
        created_at,
        expires_at: created_at + LIMITS.channel_link_life,
      };
      const [made] = await store.write([insertLink(row), endOldestLinks({ account_id })]);
      if (made!.changes === 0) await assertLive(caller);
      return toLink(row, links.linkOf(address, codeOf(id)));
    },

    /** The link, and who opened it. `404 not_found` once it has expired or was confirmed. */
    async get(caller: AccountCaller, id: string): Promise<ChannelLink> {
      const row = await find(caller, id);
      const address = vault.open(PLACES.address(id), row.address);
      return toLink(row, channelOf(row.type).links.linkOf(address, codeOf(id)));
    },

    /**
     * Adds the channel for whoever opened the link. A repetition gives the same channel. `403 forbidden` in the
     * caller's trial; `404 not_found`; `409 link_not_opened`, `too_many_channels`.
     */
    confirm: (caller: AccountCaller, link_id: string): Promise<{ channel: Channel }> =>
      untilDecided(async () => {
        const { account_id } = caller;
        const id = link_id.replace(/^lnk_/, "chn_");
        const [open] = await store.read(linkById({ id: link_id, account_id }));
        // The link ends in the batch that makes its channel, so one of them is found.
        const [confirmed] = open ? [] : await store.read(channelById({ id, account_id }));
        // Channels of other types have no link, so no link has their ids.
        if (id !== link_id && confirmed && linkedChannel(confirmed.channel.type)) {
          return { channel: toChannel(confirmed) };
        }
        const { type, label, visitor, ...link } = open
          ? assertOpen(open)
          : await find(caller, link_id);
        await assertPastTrial(caller);
        if (visitor === null) return fail("link_not_opened");
        const { lane, links } = channelOf(type);
        const address = vault.open(PLACES.visitor(link_id), visitor.address);
        const url = links.urlOf(address);
        const { origin } = new URL(url);
        const host = hostOf(url);
        const now = clock.now();
        const of = { id, account_id };
        const endpoint_digest = digest(JSON.stringify([account_id, type, address]));
        const secret = sealSecret(vault, id, { url, address });
        const channel = {
          ...NEW_CHANNEL,
          ...of,
          type: type as Channel["type"],
          label,
          sends: ["questions" as const, "tasks" as const],
          min_priority: "low" as const,
          quiet_hours: null,
          state: "ok" as const,
          last_sent_at: null,
          created_at: now,
          origin,
          hint: hintOf(url),
          session_id: null,
          secret,
          endpoint_digest,
          host,
          revision: ids.unique(),
          listener: link.listener,
        };
        const results = await store.write([
          deleteRelinkedChannel({ ...of, link_id, endpoint_digest }),
          insertLinkedChannel({ ...channel, link_id }),
          insertTarget({ ...of, lane, address: secret.address ?? "", now }),
          endConfirmedLink({ id, link_id }),
        ]);
        if (results[1]!.changes === 0) {
          await assertLive(caller);
          const [still] = await store.read(linkById({ id: link_id, account_id }));
          // Another request has confirmed it: read again.
          return still ? fail("too_many_channels") : undefined;
        }
        deps.wakeSender();
        return undefined;
      }),

    /**
     * Binds the first person who opens a link to it, and tells them the same if they open it again: the first message may
     * have been lost. Anybody else learns nothing.
     */
    async visited({ code, from, address }: Omit<LinkEvent, "kind">): Promise<ReplyOutcome> {
      const now = clock.now();
      const open = { code_digest: digest(code), now, latest: now + CLOCKS_DIFFER };
      const [link] = await store.read(linkByCode(open));
      // A code may be sent over another connection than that of its link.
      const key = link && linkedChannel(link.type)?.replies.keyOf(address);
      if (link === undefined || key !== link.listener) return { is: "unknown" };
      const place = PLACES.visitor(link.id);
      let { visitor } = link;
      if (visitor === null) {
        const first = { ...shown(from), address: vault.seal(place, address) };
        await store.write([visitLink({ ...open, visitor: first })]);
        // Somebody else may have been faster.
        visitor = (await store.read(linkByCode(open)))[0]?.visitor ?? null;
      }
      const is_theirs = visitor !== null && vault.open(place, visitor.address) === address;
      return is_theirs ? { is: "linked", text: OPENED } : { is: "unknown" };
    },
  };
}

/** The names that a service shows, without characters that could hide or reorder a part of the page. */
function shown({ name, username }: LinkVisitor): LinkVisitor {
  const clean = (text: string) =>
    [...text.toWellFormed().replace(/[\p{Cc}\p{Cf}]/gu, "")].slice(0, LIMITS.link_name).join("");
  const seen = clean(name);
  return {
    name: isBlank(seen) ? "(no name)" : seen,
    username: username === null ? null : clean(username),
  };
}
