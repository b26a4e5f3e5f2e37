/** Standard output whose failures are noticed. */

import { OutputFault } from "./io.ts";

/**
 * `out` writes; `flush` waits until all of it has been taken, and rejects with an {@link OutputFault} if
 * any of it since the last `flush` was not.
 */
export function createOutput(stream: NodeJS.WritableStream) {
  // The callback of each write has the error too.
  stream.on("error", () => {});
  let written: Promise<unknown> = Promise.resolve();
  let failure: NodeJS.ErrnoException | undefined;
  return {
    out(text: string): void {
      const { promise, resolve } = Promise.withResolvers<void>();
      stream.write(text, (error) => {
        failure ??= error ?? undefined;
        resolve();
      });
      written = Promise.all([written, promise]);
    },

    async flush(): Promise<void> {
      await written;
      const error = failure;
      failure = undefined;
      if (error) throw new OutputFault(error);
    },
  };
}
