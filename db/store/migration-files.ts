/** The migrations that drizzle-kit wrote, in order. `bun run build` puts their content in the place of this module. */

import { fileURLToPath } from "node:url";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";

const FOLDER = fileURLToPath(new URL("../migrations", import.meta.url));

export const readMigrations = (): readonly MigrationMeta[] =>
  readMigrationFiles({ migrationsFolder: FOLDER });
