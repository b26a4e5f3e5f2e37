/** Combines abort signals for runtimes without `AbortSignal.any`, such as Safari before 17.4. */

/**
 * Aborts `controller` once `signal` has aborted, with its reason. Returns a function that ends this: call it when the
 * work is done, or a long-lived signal collects listeners.
 */
export function abortWith(controller: AbortController, signal?: AbortSignal | null): () => void {
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return () => signal?.removeEventListener("abort", abort);
}
