import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The key by which limits count a client's address. Of IPv6 it is the network of 64 bits, because a client is given a
 * whole one and may send each request from another address of it; IPv4 within IPv6 is IPv4. A text that is no address
 * is its own key.
 */
export function addressKey(address: string): string {
  const plain = address.replace(/%.*$/s, '');
  if (isIP(plain) !== 6) {
    return address;
  }
  const parsed = ipaddr.IPv6.parse(plain);
  if (parsed.isIPv4MappedAddress()) {
    return parsed.toIPv4Address().toString();
  }
  const { parts } = parsed;
  if (parsed.range() === 'rfc6052') {
    // Translated by a gateway to IPv6: otherwise all of its clients were counted as one.
    return parts
      .slice(6)
      .flatMap((part) => [part >> 8, part & 0xff])
      .join('.');
  }
  const network = parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
