const longestAnswer = 64 * 1024;
const withinMs = 5_000;

/** The provider did not answer, must not be asked, failed by itself, or sent more than such a document ever holds. */
export class ProviderAway extends Error {
  constructor(options?: ErrorOptions) {
    super('The identity provider did not answer.', options);
    this.name = 'ProviderAway';
  }
}

/**
 * A fetch that reads 64 KiB at most and waits five seconds at most; what a provider sends is no stream.
 * @throws `ProviderAway`
 */
export function boundedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const timeout = AbortSignal.timeout(withinMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    const { status, headers, body } = await ask(() => fetch(input, { ...init, signal }));
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
): Promise<{ status: number; headers: Headers; body: Uint8Array<ArrayBuffer> }> {
  try {
    const response = await request();
    const body = await readBounded(response);
    if (response.status < 500) {
      return { status: response.status, headers: response.headers, body };
    }
  } catch (cause) {
    throw new ProviderAway({ cause });
  }
  throw new ProviderAway();
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    length += part.value.byteLength;
    if (length > longestAnswer) {
      await reader?.cancel();
      throw new ProviderAway();
    }
    parts.push(part.value);
  }
  return new Uint8Array(Buffer.concat(parts));
}
