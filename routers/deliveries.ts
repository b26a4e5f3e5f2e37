/** Procedures of deliveries and receipts of questions (§5.7.7, §5.7.8). */

import { z } from "zod";
import { Delivery, Reach, ReceiptInput } from "../src/model/delivery.ts";
import { Id } from "../src/model/text.ts";
import { account, anyone, router, routes } from "./trpc.ts";

const route = routes("Questions");

export const deliveries = router({
  list: anyone
    .meta({
      openapi: route("GET /v1/questions/{question_id}/deliveries", "listDeliveries", {
        summary: "See how far a question got",
        description:
          "One delivery for each device and channel that the question was planned for, and one for all open web pages. An API key gets only `reach`.",
      }),
      errors: ["not_found"],
    })
    .input(z.strictObject({ question_id: Id }))
    .output(
      z.object({ deliveries: z.array(Delivery), reach: Reach }).meta({ id: "QuestionDeliveries" }),
    )
    .query(({ ctx, input }) => ctx.services.deliveries.list(ctx.caller, input.question_id)),

  receive: account
    .meta({
      openapi: route("POST /v1/questions/{question_id}/receipts", "sendReceipt", {
        summary: "Report that a question was shown or opened",
        description: "For each device, and for web pages, the first receipt of each kind counts.",
      }),
      status: 204,
      accepts_ticket: true,
      errors: ["not_found"],
    })
    .input(ReceiptInput.extend({ question_id: Id }).meta({ id: "ReceiptCreate" }))
    .output(z.void())
    .mutation(({ ctx, input: { question_id, ...receipt } }) =>
      ctx.services.deliveries.receive(ctx.caller, question_id, receipt),
    ),
});
