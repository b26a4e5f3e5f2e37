/** Procedures of devices (§5.3). */

import { z } from "zod";
import { Device, DeviceId, DeviceInput } from "../src/model/device.ts";
import { Id } from "../src/model/text.ts";
import { account, router, routes } from "./trpc.ts";

const route = routes("Devices");

export const devices = router({
  list: account
    .meta({
      openapi: route("GET /v1/devices", "listDevices", {
        summary: "List the devices, the last registered first",
        description: "At most 20.",
      }),
    })
    .input(z.strictObject({}))
    .output(z.object({ devices: z.array(Device) }).meta({ id: "DeviceList" }))
    .query(async ({ ctx }) => ({ devices: await ctx.services.devices.list(ctx.caller) })),

  put: account
    .meta({
      openapi: route("PUT /v1/devices/{device_id}", "registerDevice", {
        summary: "Create or replace a device",
        description:
          "Send all tokens of the device: a missing one becomes null. A push token of another registration moves here.",
      }),
    })
    .input(DeviceInput.extend({ device_id: DeviceId }).meta({ id: "DeviceRegistration" }))
    .output(Device)
    .mutation(({ ctx, input: { device_id, ...device } }) =>
      ctx.services.devices.put(ctx.caller, device_id, device),
    ),

  delete: account
    .meta({
      openapi: route("DELETE /v1/devices/{device_id}", "deleteDevice", {
        summary: "Remove a device",
        description: "Removes its live activities and queued pushes too.",
      }),
      status: 204,
      errors: ["not_found"],
    })
    .input(z.strictObject({ device_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.devices.remove(ctx.caller, input.device_id)),
});
