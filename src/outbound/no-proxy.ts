/** What the environment says of proxies, which `OUTBOUND_PROXY` overrides (docs/interface.md 11.6.4). */

/**
 * Bun reads `NO_PROXY` as a request begins, and would pass over the proxy that the request names.
 * Other requests may depend on it.
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
