import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Visitor } from './cookie-client.ts';

export interface JourneyUser {
  /** The text of its button at the demo's provider. */
  name: string;
}

export interface Arrived {
  sessionId: string;
  accessToken: string;
  refreshToken: string;
}

/** Follows the printed link, chooses a user, and arrives with the lines that the page shows. */
export async function arrive(visitor: Visitor, link: string, user: JourneyUser): Promise<Arrived> {
  await visitor.open(link);
  expect(new URL(visitor.url()).pathname).toMatch(/^\/interaction\//);
  await visitor.press(user.name);
  expect(await visitor.textOf('h1')).toBe('Signed in');
  const [call, refresh] = [await visitor.textOf('#call'), await visitor.textOf('#refresh')];
  return {
    sessionId: await visitor.textOf('#session'),
    accessToken: /Bearer (at\.[\w-]+)/.exec(call)![1]!,
    refreshToken: /Bearer (rt\.[\w-]+)/.exec(refresh)![1]!,
  };
}

/** Runs a line of the page unchanged. */
export async function paste<T>(line: string): Promise<T> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line} --silent`]);
  return JSON.parse(stdout) as T;
}

/** Uses, renews and ends a session, by the lines of the page alone. */
export async function useSession(visitor: Visitor, arrived: Arrived): Promise<void> {
  const call = await visitor.textOf('#call');
  const sessions = await paste<{ data: { session_id: string; current: boolean }[] }>(call);
  expect(sessions.data.find(({ current }) => current)?.session_id).toBe(arrived.sessionId);

  const renewed = await paste<{ access_token: string }>(await visitor.textOf('#refresh'));
  const again = call.replace(arrived.accessToken, renewed.access_token);
  expect((await paste<typeof sessions>(again)).data.find(({ current }) => current)?.session_id).toBe(
    arrived.sessionId,
  );

  const ended = await paste<{ data: { status: string } }>(await visitor.textOf('#logout'));
  expect(ended.data.status).toBe('ended');
  expect(await paste(again)).toMatchObject({ error: { code: 'invalid_credentials' } });
}

export interface Received {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** Requests with an access token, as any client makes them. */
export function caller(base: string, token: string) {
  return async (method: string, path: string, body?: object): Promise<Received> => {
    const answer = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  };
}

/** `<status> <missing permission>`. */
export const refusal = ({ status, body }: Received): string =>
  `${status} ${String(body?.error?.missing_permission)}`;
