/** Procedures of the operator: a router of its own, on none of the surfaces of accounts and keys. */

import { initTRPC, TRPCError } from "@trpc/server";
import { ZodError, z } from "zod";
import { fail, ServiceError } from "../src/errors.ts";
import type { Log } from "../src/log.ts";
import {
  AccountList,
  AccountPage,
  AdminHealth,
  InvitationList,
  JobList,
  NewInvitation,
  OutboxFigures,
  Overview,
  PersonName,
  ProcessFigures,
  PushFigures,
  SeriesFigures,
  StoreFigures,
} from "../src/model/admin.ts";
import type { AdminCaller } from "../src/model/caller.ts";
import { type LinkBase, Pairing } from "../src/model/pairing.ts";
import { QuestionReport } from "../src/model/question-report.ts";
import { Id } from "../src/model/text.ts";
import { formatError, toTrpcError } from "../src/rpc/errors.ts";
import type { Admin } from "../src/services/admin.ts";
import type { Pairings } from "../src/services/pairings.ts";
import type { People } from "../src/services/people.ts";
import type { QuestionReports } from "../src/services/question-report.ts";

/** The context of every admin procedure. */
export interface AdminContext {
  /** Null without a valid admin token. */
  readonly caller: AdminCaller | null;
  readonly admin: Admin;
  readonly pairings: Pick<Pairings, "createByAdmin">;
  readonly people: Omit<People, "findInvitation" | "isInvitation">;
  readonly reports: QuestionReports;
  /** The base address for links on another device. */
  readonly linkBase: () => LinkBase;
  /** A log whose lines have the id of the request (§1.2.11). */
  readonly log: () => Log;
}

const t = initTRPC.context<AdminContext>().create({ isDev: false, errorFormatter: formatError });

const admin = t.procedure.use(async ({ ctx, next }) => {
  try {
    const caller = ctx.caller ?? fail("unauthorized");
    const result = await next({ ctx: { caller } });
    if (!result.ok) throw result.error;
    return result;
  } catch (error) {
    const { code, cause } = error instanceof TRPCError ? error : {};
    // An answer that does not fit its schema is a fault of the server.
    const ours = code === "INTERNAL_SERVER_ERROR" && cause instanceof ZodError;
    throw toTrpcError(ours ? new ServiceError("internal", { cause }) : error);
  }
});

/** A query of figures, without fields. */
const figures = admin.input(z.strictObject({}).optional());

export const adminRouter = t.router({
  overview: figures.output(Overview).query(({ ctx }) => ctx.admin.overview()),

  /** Newest first, all of them or those with a name (§4.3.4). */
  accounts: admin
    .input(AccountPage.optional())
    .output(AccountList)
    .query(({ ctx, input }) => ctx.admin.accounts(input ?? {})),

  /** A pairing code for a person who lost every sign-in (§5.14.5). Logged with the id of the account. */
  pair: admin
    .input(z.strictObject({ account_id: Id }))
    .output(Pairing)
    .mutation(({ ctx, input }) =>
      ctx.pairings.createByAdmin(input.account_id, ctx.linkBase(), ctx.log()),
    ),

  /** A name for the person, which only the administrator sees; null takes it away. */
  setName: admin
    .input(z.strictObject({ account_id: Id, name: PersonName.nullable() }))
    .mutation(({ ctx, input }) => ctx.people.setName(input.account_id, input.name)),

  /** Blocks or unblocks an account (§4.4). */
  setBlocked: admin
    .input(z.strictObject({ account_id: Id, blocked: z.boolean() }))
    .mutation(({ ctx, input }) =>
      ctx.people.setBlocked(input.account_id, input.blocked, ctx.log()),
    ),

  /** Deletes an account, as its person can (§5.2.5). */
  deleteAccount: admin
    .input(z.strictObject({ account_id: Id }))
    .mutation(({ ctx, input }) => ctx.people.remove(input.account_id, ctx.log())),

  /** Makes an invitation (§5.2.1(6)). */
  invite: admin
    .input(z.strictObject({ name: PersonName.nullable() }))
    .output(NewInvitation)
    .mutation(({ ctx, input }) => ctx.people.invite(input.name, ctx.linkBase(), ctx.log())),

  /** The open invitations, newest first. */
  invitations: figures
    .output(InvitationList)
    .query(async ({ ctx }) => ({ invitations: await ctx.people.invitations() })),

  /** Ends an open invitation. */
  revoke: admin
    .input(z.strictObject({ invitation_id: Id }))
    .mutation(({ ctx, input }) => ctx.people.revoke(input.invitation_id)),

  health: figures.output(AdminHealth).query(({ ctx }) => ctx.admin.health()),
  process: figures.output(ProcessFigures).query(({ ctx }) => ctx.admin.process()),
  series: figures.output(SeriesFigures).query(({ ctx }) => ctx.admin.series()),
  store: figures.output(StoreFigures).query(({ ctx }) => ctx.admin.store()),
  outbox: figures.output(OutboxFigures).query(({ ctx }) => ctx.admin.outbox()),
  pushes: figures.output(PushFigures).query(({ ctx }) => ctx.admin.pushes()),

  /** What became of a question, of any account, without its content (§4.3.3). `404 not_found`. */
  question: admin
    .input(z.strictObject({ question_id: Id }))
    .output(QuestionReport)
    .query(({ ctx, input }) => ctx.reports.read(input.question_id)),

  jobs: figures.output(JobList).query(({ ctx }) => ctx.admin.jobs()),
});

/** For the admin page: `createTRPCClient<AdminRouter>` at `/admin/trpc`. */
export type AdminRouter = typeof adminRouter;
