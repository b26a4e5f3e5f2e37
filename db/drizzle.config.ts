/** For `bun run db:generate`, which writes a migration from the difference to the schemas. */

import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: [
    "./db/schema.ts",
    "./db/admin-schema.ts",
    "./db/history-schema.ts",
    "./db/credentials-schema.ts",
    "./db/notify/schema.ts",
    "./db/notify/reply-schema.ts",
    "./db/oauth/schema.ts",
  ],
  out: "./db/migrations",
});
