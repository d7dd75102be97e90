import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { requestFailure } from '../shared/http-failure.ts';
import { readBody } from '../shared/bounded-body.ts';

/** A listing of 1,000 keys of the greatest length, three bytes for each of theirs, with all other members. */
const maxAnswerBytes = 8 * 1_048_576;

/** As the SDK gives it to its handlers: the path is encoded, the query is not. */
interface SignedRequest {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Record<string, string | string[] | null>;
  headers: Record<string, string>;
}

/**
 * Sends the SDK's requests through the guarded fetch; no request leaves in another way. Answers other than an object's
 * content are bounded before the SDK parses them.
 */
export function fetchHandler(fetch: typeof globalThis.fetch): NonNullable<S3ClientConfig['requestHandler']> {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    handle: async (request: SignedRequest, options?: { abortSignal?: AbortSignal }) => {
      const signal = options?.abortSignal ?? AbortSignal.timeout(60_000);
      try {
        // The name of the host follows from the address; `fetch` sets that header.
        const headers = Object.entries(request.headers).filter(([name]) => name.toLowerCase() !== 'host');
        const response = await fetch(addressOf(request), { method: request.method, headers, signal });
        return {
          response: {
            statusCode: response.status,
            reason: response.statusText,
            headers: Object.fromEntries(response.headers),
            body: await bodyOf(request, response),
          },
        };
      } catch (error) {
        throw requestFailure(error, signal);
      }
    },
    updateHttpClientConfig: () => {},
    httpHandlerConfigs: () => ({}),
  };
}

function addressOf({ protocol, hostname, port, path, query }: SignedRequest): string {
  const pairs = Object.entries(query ?? {})
    .flatMap(([name, value]) => [value ?? ''].flat().map((each) => `${encode(name)}=${encode(each)}`))
    .join('&');
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${pairs && `?${pairs}`}`;
}

/** As the SDK encodes what it signs. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

async function bodyOf(request: SignedRequest, response: Response): Promise<Readable> {
  if (response.ok && response.body !== null && request.query?.['x-id'] === 'GetObject') {
    return Readable.fromWeb(response.body);
  }
  const answer = await readBody(response, maxAnswerBytes);
  if (answer === null) {
    throw new SourceFailure('source_invalid', 'An answer of the source exceeds its limit of bytes.');
  }
  return Readable.from(answer.byteLength === 0 ? [] : [answer]);
}
