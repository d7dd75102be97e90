import type { TestGateway } from '../support/gateway.ts';

/** Callers of the fixture: the tenant's owner and a user by their keys, and a session. */
export interface Identities {
  owner: string;
  user: string;
  session: string;
}

export interface Reading {
  path: string;
  as: keyof Identities;
}

/** The API's answers, or a stream's whole text; by `<who> <path>`. */
export type Readings = Record<string, unknown>;

/** The ids of the fixture's resources. */
export interface Held {
  spaceId: string;
  finished: string;
  running: string;
  thread: string;
  threadResponse: string;
  collection: string;
  document: string;
}

/** Every request whose answer is compared for the fixture's tenant. */
export function readingsOf(held: Held): Reading[] {
  const space = `/v1/spaces/${held.spaceId}`;
  const owner = [
    '/v1/spaces',
    space,
    `${space}/governance`,
    `${space}/models`,
    `${space}/members`,
    `${space}/responses`,
    `${space}/responses/${held.finished}`,
    `${space}/responses/${held.finished}/input_items`,
    `${space}/responses/${held.finished}/events`,
    `${space}/responses/${held.running}`,
    `${space}/responses/${held.threadResponse}`,
    `${space}/responses/${held.threadResponse}/events`,
    `${space}/threads`,
    `${space}/threads/${held.thread}/messages`,
    `${space}/collections`,
    `${space}/collections/${held.collection}/documents`,
    `${space}/collections/${held.collection}/documents/${held.document}`,
    '/v1/events?limit=100',
    '/v1/admin/principals',
    '/v1/admin/roles',
    '/v1/admin/api-keys',
    '/v1/admin/models',
    '/v1/admin/sessions',
    '/v1/admin/identity-providers',
  ];
  return [
    ...owner.map((path) => ({ path, as: 'owner' as const })),
    { path: '/v1/notifications', as: 'user' },
    { path: '/v1/notifications/unread-count', as: 'user' },
    { path: '/v1/sessions', as: 'session' },
  ];
}

/** Sends every request. @throws for a status other than 200 */
export async function readAll(gateway: TestGateway, identities: Identities, held: Held): Promise<Readings> {
  const readings: Readings = {};
  for (const { path, as } of readingsOf(held)) {
    const headers: Record<string, string> =
      as === 'session' ? { authorization: `Bearer ${identities.session}` } : { 'x-api-key': identities[as] };
    const answer = await gateway.send({ method: 'GET', path, headers });
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text}`);
    const text = withoutClock(answer.text);
    readings[`${as} ${path}`] = answer.body === null ? text.split('\n') : JSON.parse(text);
  }
  return readings;
}

/** Removes expiries, which move with the day of the restore, and the last use of a key, which reading updates. */
function withoutClock(text: string): string {
  return text.replaceAll(/"(expires_at|deadline_at|last_used_at)":\s*"[^"]*"/g, '"$1":"(a time)"');
}
