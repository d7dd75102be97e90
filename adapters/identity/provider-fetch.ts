import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';

/** The provider did not answer, is not an allowed address, failed, or sent more than such a document ever holds. */
export class ProviderAway extends Error {
  constructor(options?: ErrorOptions) {
    super('The identity provider did not answer.', options);
    this.name = 'ProviderAway';
  }
}

/** A fetch that returns once the whole answer has been read: providers send no streams. @throws `ProviderAway` */
export function providerFetch(options: BoundedFetchOptions): typeof globalThis.fetch {
  const fetch = boundedFetch('identity_provider', options);
  return async (input, init) => {
    const { status, headers, body } = await ask(() => fetch(input, init));
    return new Response(status === 204 || status === 304 ? null : body, {
      status,
      headers: new Headers(
        [...headers].filter(([name]) => !/^(content-(encoding|length)|set-cookie)$/i.test(name)),
      ),
    });
  };
}

async function ask(
  request: () => Promise<Response>,
): Promise<{ status: number; headers: Headers; body: ArrayBuffer }> {
  try {
    const response = await request();
    const body = await response.arrayBuffer();
    if (response.status < 500) {
      return { status: response.status, headers: response.headers, body };
    }
  } catch (cause) {
    throw new ProviderAway({ cause });
  }
  throw new ProviderAway();
}
