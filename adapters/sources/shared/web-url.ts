import { z } from 'zod';

/** The address of a source in a scope: http or https, without a secret, a query or a fragment. */
export const webUrl = (description: string) =>
  z
    .string()
    .max(1_000)
    .refine(
      isPlainWebUrl,
      'must be an http(s) address without credentials, query or fragment, such as https://www.example.com/path',
    )
    .describe(description);

function isPlainWebUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !/[?#\s]/.test(text)
  );
}

/** Any address of the web in a scope, also with a query. It holds no user name or password: scopes hold no secrets. */
export const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .refine(isBare, { message: 'must hold no user name and no password' });

function isBare(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && url.username === '' && url.password === '';
}

/** `SourceProvider.endpoint` of a source at a web address. */
export function webEndpoint(address: string): { host: string; origin: string } {
  const { hostname, port, protocol, origin } = new URL(address);
  return { host: `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`, origin };
}

/** So that a path can be appended. */
export function withoutSlashes(address: string): string {
  let end = address.length;
  while (address[end - 1] === '/') end -= 1;
  return address.slice(0, end);
}
