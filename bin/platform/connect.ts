import { readFileSync } from 'node:fs';
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { AppRouter } from '#api/trpc/router.ts';
import { lines } from './print.ts';

export type Client = ReturnType<typeof createTRPCClient<AppRouter>>;

/** Inputs of the procedures. */
export type Inputs = inferRouterInputs<AppRouter>;

/** Outputs of the procedures. */
export type Outputs = inferRouterOutputs<AppRouter>;

export interface Connection {
  url: string | undefined;
  keyFile: string | undefined;
}

class Unreachable extends Error {}

/** The gateway gives each statement five seconds. */
const answerWithinMs = 60_000;

const defaultUrl = 'http://127.0.0.1:8080';

/** Address and key of a gateway. The key comes from the environment or a file, never from an argument. */
export function gatewayOf(
  connection: Connection,
  env: NodeJS.ProcessEnv = process.env,
): { base: string; headers: Record<string, string> } {
  const base = connection.url ?? env['PLATFORM_URL'] ?? defaultUrl;
  if (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    throw new Error('The gateway’s URL (--url, PLATFORM_URL) must be an http or https URL.');
  }
  const key = readKey(connection.keyFile ?? env['PLATFORM_API_KEY_FILE'], env['PLATFORM_API_KEY']);
  return { base, headers: { 'X-API-Key': key } };
}

/** The typed client of a gateway. */
export function connect(
  connection: Connection,
  env: NodeJS.ProcessEnv = process.env,
  patienceMs = answerWithinMs,
): Client {
  const { base, headers } = gatewayOf(connection, env);
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: new URL('/api/trpc', base).href,
        headers,
        fetch: (target, options) => reach(base, patienceMs, () => ask(target, options, patienceMs)),
      }),
    ],
  });
}

/** @throws in one line for people where the gateway does not answer */
export async function reach<T>(base: string, patienceMs: number, request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw new Unreachable(
      error instanceof Error && error.name === 'TimeoutError'
        ? `The gateway at ${base} has not answered in ${patienceMs / 1_000} seconds; it may have done what it was asked.`
        : `The gateway at ${base} cannot be reached.`,
    );
  }
}

/** Covers the whole answer: its head may arrive without its body. */
export async function ask(
  target: string | URL | Request,
  options: object | undefined,
  patienceMs: number,
): Promise<{ ok: boolean; json: () => Promise<unknown> }> {
  const answer = await fetch(target, { ...options, signal: AbortSignal.timeout(patienceMs) });
  const text = await answer.text();
  return { ok: answer.ok, json: async () => JSON.parse(text) as unknown };
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

/**
 * For display: what was refused, by its code, the request id to search for in the logs, and definitions that
 * differ.
 */
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
  const shown = refused.definitions?.map(
    ({ name, schema_hash: hash, difference }) => `\n\n${name}@${hash}\n${difference}`,
  );
  return `${refused.code}: ${refused.message}${param} [${refused.request_id}]${lines(shown?.join('') ?? '')}`;
}
