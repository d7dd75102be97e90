import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import { originOf } from '#domain/foundation/kernel/origin.ts';
import { EgressRefused, resolvePublic } from './public-address.ts';
import { createResolve, type Resolve } from './resolve-names.ts';

/** Resolves names and dials addresses; a name is resolved once for each connection. */
interface Network {
  resolve: Resolve;
  connect: buildConnector.connector;
}

/** `boundedFetch` limits the silence of a body by its use: the default of five minutes would end streams of changes. */
const waiting = { bodyTimeout: 0 };

/**
 * The only way for requests to leave the platform. It allows public addresses over https only, except for the exact
 * origins that the operator lists (scheme, host and port). Addresses are checked when dialled, so DNS rebinding gains
 * nothing.
 */
export function createGuardedFetch(
  allowedOrigins: readonly string[],
  network: Partial<Network> = {},
): typeof globalThis.fetch {
  const allowed = new Set(allowedOrigins.map(originOf));
  const connect = network.connect ?? buildConnector({ timeout: 5_000 });
  const resolve = network.resolve ?? createResolve();
  const guarded = new Agent({
    ...waiting,
    connect: (options, callback) => {
      resolvePublic(resolve, options.hostname, (error, address) => {
        if (error !== null) {
          callback(error, null);
          return;
        }
        connect(
          { ...options, hostname: address, servername: options.servername ?? options.hostname },
          callback,
        );
      });
    },
  });
  const open = new Agent({ ...waiting, connect: { timeout: 5_000 } });
  const guardedFetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const listed = /^https?:$/.test(url.protocol) && allowed.has(url.origin);
    if (url.username !== '' || url.password !== '' || (!listed && url.protocol !== 'https:')) {
      throw new EgressRefused();
    }
    const response = await undiciFetch(url, {
      ...(init as Parameters<typeof undiciFetch>[1]),
      redirect: 'manual',
      dispatcher: listed ? open : guarded,
    });
    return response;
  };
  return guardedFetch;
}
