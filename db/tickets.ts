/** What a ticket is checked by (docs/interface.md 19.7). */

import { channels } from "./notify/schema.ts";
import { questions } from "./schema.ts";
import { p, sql } from "./sql.ts";
import { qb, select } from "./statement.ts";

/**
 * The account of a channel and of a question that both are there, and when the question ended or
 * expires. By ids alone: one row of each table.
 */
export const ticketFacts = select(
  qb
    .select({
      account_id: channels.account_id,
      answered_at: questions.answered_at,
      cancelled_at: questions.cancelled_at,
      expires_at: questions.expires_at,
    })
    .from(channels)
    .innerJoin(questions, sql`${questions.account_id} = ${channels.account_id}`),
  sql`where channels.id = ${p("channel_id")} and questions.id = ${p("question_id")}
    and exists (select 1 from keys where id = questions.key_id and deleted_at is null)
    and exists (select 1 from accounts where id = channels.account_id and deleted_at is null)`,
  { one: true },
);
