import type { VendorConnection } from './vendor-connection.ts';

/** The latest are kept; more models than that are seldom in use at once. */
const maxClients = 200;

/**
 * A package builds its schemas anew for each client, which costs more than the call itself, and a client holds nothing
 * of a call: so one is kept for each model at each address with each key, and for each whose stored credential it sends.
 */
export function cacheClients<T>(
  make: (connection: VendorConnection, model: string) => T,
): (connection: VendorConnection, model: string) => T {
  const kept = new Map<string, T>();
  return (connection, model) => {
    const key = JSON.stringify([connection.baseURL, connection.apiKey, connection.identity ?? null, model]);
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
