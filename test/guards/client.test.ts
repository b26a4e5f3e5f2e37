/** The generated part of the client matches the procedures. */

import { expect, test } from "bun:test";
import { clientRoutes } from "../../scripts/client-routes.ts";
import { ROUTES } from "../../src/client/routes.ts";

test("src/client/routes.ts is what bun run client:generate writes", () => {
  expect(ROUTES).toEqual(clientRoutes() as typeof ROUTES);
});
