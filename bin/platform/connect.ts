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

const defaultUrl = 'http://127.0.0.1:8080';

/** The typed client of a gateway. The key comes from the environment or a file, never from an argument. */
export function connect(connection: Connection, env: NodeJS.ProcessEnv = process.env): Client {
  const base = connection.url ?? env['PLATFORM_URL'] ?? defaultUrl;
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    throw new Error('The gateway’s URL (--url, PLATFORM_URL) must be an http or https URL.');
  }
  const key = readKey(connection.keyFile ?? env['PLATFORM_API_KEY_FILE'], env['PLATFORM_API_KEY']);
  const url = new URL('/api/trpc', base).href;
  return createTRPCClient<AppRouter>({ links: [httpLink({ url, headers: { 'X-API-Key': key } })] });
}

function readKey(file: string | undefined, given: string | undefined): string {
  if (file !== undefined) {
    return readFileSync(file, 'utf8').trim();
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
    return 'The gateway cannot be reached; is --url or PLATFORM_URL right?';
  }
  const param = refused.param === null ? '' : ` (${refused.param})`;
  return `${refused.code}: ${refused.message}${param} [${refused.request_id}]`;
}
