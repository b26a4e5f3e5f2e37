/** The error of a promise that rejects. */

/** Returns the error; throws if the promise resolves instead. */
export function rejectionOf(promise: Promise<unknown>): Promise<any> {
  return promise.then(
    () => {
      throw new Error("it did not reject");
    },
    (error: unknown) => error,
  );
}
