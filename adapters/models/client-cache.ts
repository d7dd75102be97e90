import type { VendorConnection } from './vendor-connection.ts';

/** The least recently used client is evicted. */
const maxClients = 200;

/**
 * A package rebuilds its schemas for each client, which costs more than the call itself, and a client holds no state of
 * a call. So clients are cached by model, address, key, tenant and stored credential.
 */
export function cacheClients<T>(
  make: (connection: VendorConnection, model: string) => T,
): (connection: VendorConnection, model: string) => T {
  const kept = new Map<string, T>();
  return (connection, model) => {
    const key = JSON.stringify([connection.baseURL, connection.apiKey, connection.identity, model]);
    const client = kept.get(key) ?? make(connection, model);
    kept.delete(key);
    kept.set(key, client);
    const [oldest] = kept.keys();
    if (kept.size > maxClients && oldest !== undefined) {
      kept.delete(oldest);
    }
    return client;
  };
}
