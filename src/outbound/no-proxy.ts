/** Keeps `NO_PROXY` of the environment from overriding `OUTBOUND_PROXY` (docs/interface.md 11.6.4). */

/**
 * Begins a request while `NO_PROXY` is unset: Bun reads it as the request begins, and would bypass
 * the proxy that the request names. It is set again at once, since other requests may depend on it.
 */
export function withoutNoProxy<Result>(begin: () => Result): Result {
  const names = ["NO_PROXY", "no_proxy"].filter((name) => process.env[name] !== undefined);
  const kept = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) delete process.env[name];
  try {
    return begin();
  } finally {
    for (const [name, value] of kept) process.env[name] = value;
  }
}
