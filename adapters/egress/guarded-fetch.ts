import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Agent, buildConnector, fetch as undiciFetch } from 'undici';
import { createResolve, type Resolve } from './resolve-names.ts';

/** Refused before a byte was sent: the address is not public and its origin is not on the operator's list. */
export class EgressRefused extends Error {
  constructor() {
    super('This address may not be reached from here.');
    this.name = 'EgressRefused';
  }
}

const azureWireServer = '168.63.129.16';

/** Resolves names and dials addresses; a name is resolved once for each connection. */
interface Network {
  resolve: Resolve;
  connect: buildConnector.connector;
}

/**
 * The only way for requests to leave the platform. It allows public addresses over https only, except for the exact
 * origins that the operator lists (scheme, host and port). Addresses are checked when dialled, so DNS rebinding gains
 * nothing.
 */
export function createGuardedFetch(
  allowedOrigins: readonly string[],
  network: Partial<Network> = {},
): typeof globalThis.fetch {
  const allowed = new Set(allowedOrigins.map((origin) => new URL(origin).origin));
  const connect = network.connect ?? buildConnector({ timeout: 5_000 });
  const resolve = network.resolve ?? createResolve();
  const guarded = new Agent({
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
  const open = new Agent({ connect: { timeout: 5_000 } });
  const guardedFetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const listed = allowed.has(url.origin);
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

function resolvePublic(
  resolve: Resolve,
  hostname: string,
  done: (error: Error | null, address: string) => void,
): void {
  const literal = hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0) {
    done(isPublic(literal) ? null : new EgressRefused(), literal);
    return;
  }
  resolve(hostname, (error, addresses) => {
    if (error !== null) {
      done(error, '');
      return;
    }
    const [first] = addresses;
    const clean = first !== undefined && addresses.every(({ address }) => isPublic(address));
    done(clean ? null : new EgressRefused(), first?.address ?? '');
  });
}

/** Unicast and global; `::/96` is refused although it counts as unicast. */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv6' && parsed.match(ipaddr.parse('::'), 96)) {
    return false;
  }
  return parsed.range() === 'unicast' && parsed.toString() !== azureWireServer;
}
