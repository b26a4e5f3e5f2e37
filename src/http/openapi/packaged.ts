/** Files of Swagger UI, not read yet. `bun run build` puts them into the executable. */

import { fileURLToPath } from "node:url";

export const packaged = (file: "swagger-ui.css" | "swagger-ui-bundle.js"): Bun.BunFile =>
  Bun.file(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file}`)));
