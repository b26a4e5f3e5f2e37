/** For `bun run db:generate`, which writes a migration from the difference to schema.ts. */

import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: ["./db/schema.ts", "./db/notify/schema.ts", "./db/oauth/schema.ts"],
  out: "./db/migrations",
});
