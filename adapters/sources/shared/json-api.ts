import type { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { authorizationOf } from './authorization.ts';
import { discardBody, readBody } from './bounded-body.ts';
import { followRedirects } from './follow-redirects.ts';
import { asSourceFailures, statusFailure } from './http-failure.ts';
import { withoutSlashes } from './web-url.ts';

/** Of one answer in JSON: it is parsed on the main thread. */
export const maxJsonBytes = 8 * 1_048_576;
const maxErrorBytes = 65_536;

export interface JsonApiOptions {
  /** Of every address; slashes at its end do not count. */
  base: string;
  headers?: Record<string, string>;
  /** What an answer of status 400 or above means here; null: what its status says in general. */
  failure?: (response: Response, body: unknown) => SourceFailure | null;
}

export interface Asking {
  signal: AbortSignal;
  headers?: Record<string, string>;
  /** No more is read of the answer; a longer one is a `TooLong`. */
  maxBytes?: number;
  /** Posted as JSON, to its own origin only. */
  body?: unknown;
}

export interface Answer<T> {
  value: T;
  headers: Headers;
}

/** An answer is longer than `maxBytes`. */
export class TooLong extends SourceFailure {
  constructor() {
    super('source_invalid', 'An answer of the source exceeds its limit of bytes.');
  }
}

/** Requests to a service that answers with JSON. Every error of it is a `SourceFailure`. */
export class JsonApi {
  readonly #access: SourceAccess;
  readonly #options: JsonApiOptions;

  constructor(access: SourceAccess, options: JsonApiOptions) {
    this.#access = access;
    this.#options = options;
  }

  /** @throws SourceFailure also for 404 and 410 */
  async get<T>(path: string, schema: z.ZodType<T>, asking: Asking): Promise<T> {
    return (await this.ask(path, schema, asking)).value;
  }

  /** With its headers. @throws SourceFailure also for 404 and 410 */
  ask<T>(path: string, schema: z.ZodType<T>, asking: Asking): Promise<Answer<T>> {
    return asSourceFailures(asking.signal, async () => {
      const response = await this.#send(path, asking);
      return { value: await this.#read(response, schema, asking), headers: response.headers };
    });
  }

  /** Null for 404 and 410. */
  async find<T>(path: string, schema: z.ZodType<T>, asking: Asking): Promise<T | null> {
    return (await this.seek(path, schema, { ...asking, absent: [404, 410] }))?.value ?? null;
  }

  /** Null for the statuses of `absent`. */
  seek<T>(
    path: string,
    schema: z.ZodType<T>,
    asking: Asking & { absent: readonly number[] },
  ): Promise<Answer<T> | null> {
    return asSourceFailures(asking.signal, async () => {
      const response = await this.#send(path, asking);
      if (asking.absent.includes(response.status)) {
        await discardBody(response);
        return null;
      }
      return { value: await this.#read(response, schema, asking), headers: response.headers };
    });
  }

  /** The bytes of an answer; null for 404 and 410. */
  async bytes(path: string, asking: Asking): Promise<{ content: Buffer; mediaType: string | null } | null> {
    return asSourceFailures(asking.signal, async () => {
      const response = await this.#send(path, asking);
      if (response.status === 404 || response.status === 410) {
        await discardBody(response);
        return null;
      }
      await this.#check(response);
      const content = await readBody(response, asking.maxBytes ?? maxJsonBytes);
      if (content === null) {
        throw new TooLong();
      }
      return { content, mediaType: response.headers.get('content-type') };
    });
  }

  async #send(path: string, { signal, headers, body }: Asking): Promise<Response> {
    const url = withoutSlashes(this.#options.base) + path;
    const own = { accept: 'application/json', ...this.#options.headers, ...headers };
    const secret = await authorizationOf(this.#access);
    if (body === undefined) {
      return (await followRedirects(this.#access.fetch, url, { headers: own, signal }, secret)).response;
    }
    return this.#access.fetch(url, {
      method: 'POST',
      headers: { ...own, ...secret, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
  }

  async #check(response: Response): Promise<void> {
    if (response.status >= 300) {
      const body = parse(await readBody(response, maxErrorBytes));
      throw this.#options.failure?.(response, body) ?? statusFailure(response);
    }
  }

  async #read<T>(response: Response, schema: z.ZodType<T>, { maxBytes }: Asking): Promise<T> {
    await this.#check(response);
    const text = await readBody(response, Math.min(maxBytes ?? maxJsonBytes, maxJsonBytes));
    if (text === null) {
      throw new TooLong();
    }
    const parsed = schema.safeParse(parse(text));
    if (!parsed.success) {
      throw new SourceFailure('source_invalid', 'The source does not answer as its interface is documented.');
    }
    return parsed.data;
  }
}

function parse(text: Buffer | null): unknown {
  try {
    return JSON.parse(text?.toString() ?? '');
  } catch {
    return undefined;
  }
}
