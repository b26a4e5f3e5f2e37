/** The error of a promise that rejects. */

/** Gives the error; throws when the promise resolves instead. */
export function rejectionOf(promise: Promise<unknown>): Promise<any> {
  return promise.then(
    () => {
      throw new Error("it did not reject");
    },
    (error: unknown) => error,
  );
}
