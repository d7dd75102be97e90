import { readFileSync } from 'node:fs';
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import type { inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from '#api/trpc/router.ts';

export type Client = ReturnType<typeof createTRPCClient<AppRouter>>;

/** What the procedures answer. */
export type Outputs = inferRouterOutputs<AppRouter>;

export interface Connection {
  url: string | undefined;
  keyFile: string | undefined;
}

class Unreachable extends Error {}

const defaultUrl = 'http://127.0.0.1:8080';

/** The typed client of a gateway. The key comes from the environment or a file, never from an argument. */
export function connect(connection: Connection, env: NodeJS.ProcessEnv = process.env): Client {
  const base = connection.url ?? env['PLATFORM_URL'] ?? defaultUrl;
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    throw new Error('The gateway’s URL (--url, PLATFORM_URL) must be an http or https URL.');
  }
  const key = readKey(connection.keyFile ?? env['PLATFORM_API_KEY_FILE'], env['PLATFORM_API_KEY']);
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: new URL('/api/trpc', base).href,
        headers: { 'X-API-Key': key },
        fetch: (target, options) => reach(base, target, options),
      }),
    ],
  });
}

/** The only failure that is not an answer of the gateway. */
async function reach(base: string, target: string | URL | Request, options: object = {}): Promise<Response> {
  try {
    return await fetch(target, options);
  } catch {
    throw new Unreachable(`The gateway at ${base} cannot be reached.`);
  }
}

function readKey(file: string | undefined, given: string | undefined): string {
  if (file !== undefined) {
    try {
      return readFileSync(file, 'utf8').trim();
    } catch {
      throw new Error('The key file cannot be read.');
    }
  }
  if (given === undefined || given === '') {
    throw new Error('No API key: set PLATFORM_API_KEY, or name a file with --key-file.');
  }
  return given;
}

/** One line for a person: what was refused, by its code, and the request to look for in the logs. */
export function describe(error: unknown): string {
  if (!(error instanceof TRPCClientError)) {
    return error instanceof Error ? error.message : 'failed';
  }
  const refused = (error as TRPCClientError<AppRouter>).data?.error;
  if (refused === undefined) {
    return error.cause instanceof Unreachable
      ? error.cause.message
      : 'What answered is no gateway: is --url or PLATFORM_URL right?';
  }
  const param = refused.param === null ? '' : ` (${refused.param})`;
  return `${refused.code}: ${refused.message}${param} [${refused.request_id}]`;
}
