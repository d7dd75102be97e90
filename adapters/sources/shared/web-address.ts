import { z } from 'zod';

/** An address of the web as a field of a scope. It holds no user name or password: scopes hold no secrets. */
export const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .refine(isBare, {
    message: 'must hold no user name and no password',
  });

function isBare(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && url.username === '' && url.password === '';
}

/** Host and port, for the rate limit that all connectors of a host share. */
export function hostOf(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === 'http:' ? '80' : '443')}`;
}
