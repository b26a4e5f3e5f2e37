/** openapi-generator, as the program that Maven Central publishes. */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Context } from "./client.ts";

export const GENERATOR_VERSION = "7.23.0";

/** Programs that the generator needs. */
export const GENERATOR_NEEDS: readonly string[] = ["java", "mvn"];

const ARTIFACT = "openapi-generator-cli";
const JAR = join(
  homedir(),
  ".m2/repository",
  `org/openapitools/${ARTIFACT}/${GENERATOR_VERSION}/${ARTIFACT}-${GENERATOR_VERSION}.jar`,
);

/** Generates a client of this kind, such as `go`, into `folder`. */
export async function generateClient(
  { url, exec }: Context,
  kind: string,
  folder: string,
  properties: readonly string[] = [],
): Promise<void> {
  if (!(await Bun.file(JAR).exists())) {
    const artifact = `-Dartifact=org.openapitools:${ARTIFACT}:${GENERATOR_VERSION}`;
    await exec(["mvn", "-q", "-B", "dependency:get", artifact]);
  }
  const more = properties.length > 0 ? ["--additional-properties", properties.join()] : [];
  const input = `${url}/v1/openapi.json`;
  await exec(["java", "-jar", JAR, "generate", "-i", input, "-g", kind, "-o", folder, ...more]);
}
