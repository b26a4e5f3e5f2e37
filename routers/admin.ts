/** What whoever runs the service may ask; a router of its own, on no surface of accounts and keys. */

import { initTRPC, TRPCError } from "@trpc/server";
import { ZodError, z } from "zod";
import { fail, ServiceError } from "../src/errors.ts";
import {
  AccountList,
  AccountPage,
  JobList,
  OutboxFigures,
  Overview,
  ProcessFigures,
  PushFigures,
  SeriesFigures,
  StoreFigures,
} from "../src/model/admin.ts";
import type { AdminCaller } from "../src/model/caller.ts";
import { type LinkBase, Pairing } from "../src/model/pairing.ts";
import { Id } from "../src/model/text.ts";
import { formatError, toTrpcError } from "../src/rpc/errors.ts";
import type { Admin } from "../src/services/admin.ts";
import type { Pairings } from "../src/services/pairings.ts";

/** What every admin procedure gets. */
export interface AdminContext {
  /** Null without the admin token. */
  readonly caller: AdminCaller | null;
  readonly admin: Admin;
  readonly pairings: Pick<Pairings, "createByAdmin">;
  /** The base address to give to another device. */
  readonly linkBase: () => LinkBase;
}

const t = initTRPC.context<AdminContext>().create({ isDev: false, errorFormatter: formatError });

/** A query takes its fields from the query of the request and changes nothing. */
const admin = t.procedure.use(async ({ ctx, next }) => {
  try {
    const caller = ctx.caller ?? fail("unauthorized");
    const result = await next({ ctx: { caller } });
    if (!result.ok) throw result.error;
    return result;
  } catch (error) {
    const { code, cause } = error instanceof TRPCError ? error : {};
    // Of an answer that does not fit its schema the caller is not to blame.
    const ours = code === "INTERNAL_SERVER_ERROR" && cause instanceof ZodError;
    throw toTrpcError(ours ? new ServiceError("internal", { cause }) : error);
  }
});

const nothing = z.strictObject({}).optional();

export const adminRouter = t.router({
  /** Counts of the store, over all processes. */
  overview: admin
    .input(nothing)
    .output(Overview)
    .query(({ ctx }) => ctx.admin.overview()),

  /** Accounts, newest first, with their figures. */
  accounts: admin
    .input(AccountPage.optional())
    .output(AccountList)
    .query(({ ctx, input }) => ctx.admin.accounts(input ?? {})),

  /**
   * A pairing code for an account, for a person who lost every sign-in (docs/interface.md 5.14.5);
   * `404 not_found`. It is logged with the id of the account.
   */
  pair: admin
    .input(z.strictObject({ account_id: Id }))
    .output(Pairing)
    .mutation(({ ctx, input }) => ctx.pairings.createByAdmin(input.account_id, ctx.linkBase())),

  /** The process that answers. */
  process: admin
    .input(nothing)
    .output(ProcessFigures)
    .query(({ ctx }) => ctx.admin.process()),

  /** Its last three hours. */
  series: admin
    .input(nothing)
    .output(SeriesFigures)
    .query(({ ctx }) => ctx.admin.series()),

  /** The store, and what this process writes to it. */
  store: admin
    .input(nothing)
    .output(StoreFigures)
    .query(({ ctx }) => ctx.admin.store()),

  /** Events that are kept for other processes. */
  outbox: admin
    .input(nothing)
    .output(OutboxFigures)
    .query(({ ctx }) => ctx.admin.outbox()),

  /** How the pushes do. */
  pushes: admin
    .input(nothing)
    .output(PushFigures)
    .query(({ ctx }) => ctx.admin.pushes()),

  /** Background work. */
  jobs: admin
    .input(nothing)
    .output(JobList)
    .query(({ ctx }) => ctx.admin.jobs()),
});

/** For the admin page: `createTRPCClient<AdminRouter>` at `/admin/trpc`. */
export type AdminRouter = typeof adminRouter;
