import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Resolve } from './resolve-names.ts';

/** Refused before a byte was sent: the address is not public and its origin is not on the operator's list. */
export class EgressRefused extends Error {
  constructor() {
    super('This address may not be reached from here.');
    this.name = 'EgressRefused';
  }
}

const azureWireServer = '168.63.129.16';

/** The address to dial for a name, if all of its addresses are public; a literal address is only checked. */
export function resolvePublic(
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
