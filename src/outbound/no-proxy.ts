/** Keeps `NO_PROXY` of the environment from overriding `OUTBOUND_PROXY` (§11.6.4). */

/**
 * Begins a request while `NO_PROXY` is unset, and restores it at once, since other requests may depend on it. Bun reads
 * it as a request begins, and then ignores the proxy that the request names, in every form of the option `proxy`.
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
