import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

const maxRedirects = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

export interface Followed {
  response: Response;
  /** Where the answer came from, after all redirects. */
  url: string;
}

/**
 * GET or HEAD over redirects; each address goes through the guarded fetch. Headers that carry a credential are sent to
 * their origin only.
 * @param secretHeaders sent only to the origin of the first address
 * @throws SourceFailure for a loop of redirects
 */
export async function followRedirects(
  fetch: typeof globalThis.fetch,
  address: string,
  init: RequestInit & { signal: AbortSignal },
  secretHeaders: Readonly<Record<string, string>> = {},
): Promise<Followed> {
  const { origin } = new URL(address);
  let url = address;
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    const headers = new Headers(init.headers);
    if (new URL(url).origin === origin) {
      for (const [name, value] of Object.entries(secretHeaders)) {
        headers.set(name, value);
      }
    }
    const response = await fetch(url, { ...init, headers });
    const location = response.headers.get('location');
    if (!redirectStatuses.has(response.status) || location === null) {
      return { response, url };
    }
    await response.body?.cancel().catch(() => {});
    const next = URL.parse(location, url);
    if (next === null || !/^https?:$/.test(next.protocol)) {
      throw new SourceFailure('source_invalid', 'The source redirects to something that is no web address.');
    }
    url = next.href;
  }
  throw new SourceFailure('source_invalid', `The source redirects more than ${maxRedirects} times.`);
}
