import { randomBytes } from 'node:crypto';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { addProvider } from '#domain/identity/identity-providers/add-provider.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { openSession } from '#domain/identity/sign-in/open-session.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Maker, Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { newKey } from './space-fixtures.ts';
import { secrets } from './world.ts';

/** Operations for anonymous callers: ids in them select a sign-in, and anybody may begin one. */
export const beforeSignIn = ['startLogin', 'finishLogin', 'createSession', 'refreshSession'] as const;

const slug = (): string => `idp-${randomBytes(6).toString('hex')}`;
const providerBody = (seed = slug()) => ({
  slug: seed,
  display_name: 'People',
  issuer: 'https://id.example.com',
  client_id: 'client',
  redirect_uris: ['https://app.example.com/'],
});

/** Makes things of sign-in in a place's tenant, as its owner. */
export class SignInMaker {
  readonly #maker: Maker;

  constructor(maker: Maker) {
    this.#maker = maker;
  }

  async provider({ tenantId }: Place): Promise<string> {
    const actor = await this.#owner(tenantId);
    const { id } = await this.#maker.unitOfWork.inTenant(tenantId, (em) =>
      addProvider(
        { em, secrets, actor },
        {
          id: newId(),
          slug: slug(),
          displayName: 'People',
          issuer: 'https://id.example.com',
          clientId: 'client',
          clientSecret: null,
          signingAlg: 'ES256',
          extraAudiences: [],
          redirectUris: [],
          provisioning: 'known',
          strictRotation: false,
          confirmedBy: null,
        },
      ),
    );
    return id;
  }

  /** Of the place's owner unless another principal is named. */
  async session(
    place: Place,
    of?: string,
  ): Promise<{ id: string; accessToken: string; refreshToken: string }> {
    const { tenantId } = place;
    const principalId = of ?? (await this.#owner(tenantId)).principalId;
    const provider = { id: await this.provider(place) };
    const opened = await this.#maker.unitOfWork.inTenant(tenantId, (em) =>
      openSession(
        { em, secrets },
        { tenantId, principalId, provider, maxLifetime: null, requestId: newId() },
      ),
    );
    const { accessToken, refreshToken } = opened.tokens;
    return { id: opened.sessionId, accessToken, refreshToken };
  }

  async user({ tenantId }: Place): Promise<string> {
    return this.#maker.unitOfWork.inTenant(tenantId, async (em) => {
      const user = em.create(Principal, { tenantId, id: newId(), type: 'user', name: 'user' });
      await em.flush();
      return user.id;
    });
  }

  async cursor({ apiKey }: Place, path: string): Promise<string> {
    const page = await this.#maker.send({ method: 'GET', path: `${path}?limit=1`, apiKey });
    return page.body.meta.next_cursor as string;
  }

  async #owner(tenantId: string): Promise<Actor> {
    const [row] = await this.#maker.unitOfWork.inTenant(tenantId, (em) =>
      em.execute<{ id: string }[]>(
        `select principal_id as id from role_assignments where role_key = 'owner' order by created_at limit 1`,
      ),
    );
    return {
      tenantId,
      principalId: row!.id,
      principalType: 'service_account',
      origin: { via: 'cli', requestId: null },
    };
  }
}

/** A valid request of each operation outside of spaces. */
export function signInCalls(maker: Maker): Record<string, (place: Place) => Promise<Call>> {
  const made = new SignInMaker(maker);
  const all = '/v1/admin/identity-providers';
  const start = async (place: Place): Promise<Call> => ({
    method: 'GET',
    path: `/v1/auth/oidc/${await made.provider(place)}/start`,
  });
  const as = ({ apiKey }: Place, method: string, path: string, body?: object): Call => ({
    method,
    path,
    apiKey,
    ...(body === undefined ? {} : { body }),
  });
  return {
    startLogin: start,
    finishLogin: async (place) => ({
      ...(await start(place)),
      path: `/v1/auth/oidc/${await made.provider(place)}/callback`,
    }),
    createSession: async () => ({
      method: 'POST',
      path: '/v1/auth/oidc/session',
      body: { provider_id: 'people', id_token: 'a.b.c' },
    }),
    refreshSession: async (place) => ({
      method: 'POST',
      path: '/v1/refresh',
      headers: { authorization: `Bearer ${(await made.session(place)).refreshToken}` },
    }),
    signOut: async (place) => ({
      method: 'POST',
      path: '/v1/auth/logout',
      apiKey: place.apiKey,
      headers: { authorization: `Bearer ${(await made.session(place)).accessToken}` },
    }),
    listOwnSessions: async (place) => as(place, 'GET', '/v1/sessions'),
    revokeSession: async (place) => as(place, 'DELETE', `/v1/sessions/${(await made.session(place)).id}`),
    listSessions: async (place) => as(place, 'GET', '/v1/admin/sessions'),
    createIdentityProvider: async (place) => as(place, 'POST', all, providerBody()),
    listIdentityProviders: async (place) => as(place, 'GET', all),
    getIdentityProvider: async (place) => as(place, 'GET', `${all}/${await made.provider(place)}`),
    updateIdentityProvider: async (place) =>
      as(place, 'PATCH', `${all}/${await made.provider(place)}`, { display_name: 'Everybody' }),
    linkIdentity: async (place) =>
      as(place, 'POST', `${all}/${await made.provider(place)}/identities`, {
        principal_id: await made.user(place),
        subject: newKey(),
      }),
  };
}

/** One for every position of these operations that holds an id. Both spaces of a tenant share all of it. */
export function signInFixtures(maker: Maker): Record<string, IdFixture> {
  const made = new SignInMaker(maker);
  const all = '/v1/admin/identity-providers';
  const at = ({ apiKey }: Place, method: string, path: string, body?: object): Call => ({
    method,
    path,
    apiKey,
    ...(body === undefined ? {} : { body }),
  });
  const provider = (method: string, suffix = '', body?: (place: Place) => Promise<object>): IdFixture => ({
    make: (place) => made.provider(place),
    unknown: newId,
    call: async (place, id) => at(place, method, `${all}/${id}${suffix}`, await body?.(place)),
    refusal: '404 identity_provider_not_found',
    neighbourRefusal: null,
  });
  const cursor = (path: string, fill: (place: Place) => Promise<unknown>): IdFixture => ({
    make: async (place) => {
      await fill(place);
      await fill(place);
      return made.cursor(place, path);
    },
    unknown: () => 'eyJ4Ijox.eA',
    call: async (place, id) => at(place, 'GET', `${path}?cursor=${encodeURIComponent(id)}`),
    refusal: '422 invalid_cursor',
    neighbourRefusal: null,
  });
  const identity = async (place: Place) => ({ principal_id: await made.user(place), subject: newKey() });
  return {
    'revokeSession path session_id': {
      make: async (place) => (await made.session(place)).id,
      unknown: newId,
      call: async (place, id) => at(place, 'DELETE', `/v1/sessions/${id}`),
      refusal: '404 session_not_found',
      neighbourRefusal: null,
    },
    'listOwnSessions query cursor': cursor('/v1/sessions', (place) => made.session(place)),
    'listSessions query cursor': cursor('/v1/admin/sessions', (place) => made.session(place)),
    'listSessions query principal_id': {
      make: (place) => made.user(place),
      unknown: newId,
      call: async (place, id) => at(place, 'GET', `/v1/admin/sessions?principal_id=${id}`),
      refusal: '200 ',
      neighbourRefusal: null,
    },
    'createIdentityProvider header idempotency-key': {
      make: async (place) => {
        const id = newKey();
        const body = providerBody(`idp-${id}`);
        await maker.send({ ...at(place, 'POST', all, body), headers: { 'idempotency-key': id } });
        return id;
      },
      unknown: newKey,
      call: async (place, id) => ({
        ...at(place, 'POST', all, providerBody(`idp-${id}`)),
        headers: { 'idempotency-key': id },
      }),
      refusal: 'fresh',
      neighbourRefusal: null,
    },
    'listIdentityProviders query cursor': cursor(all, (place) => made.provider(place)),
    'getIdentityProvider path identity_provider_id': provider('GET'),
    'updateIdentityProvider path identity_provider_id': provider('PATCH', '', async () => ({
      display_name: 'All',
    })),
    'linkIdentity path identity_provider_id': provider('POST', '/identities', identity),
    'linkIdentity body principal_id': {
      make: (place) => made.user(place),
      unknown: newId,
      call: async (place, id) =>
        at(place, 'POST', `${all}/${await made.provider(place)}/identities`, {
          principal_id: id,
          subject: newKey(),
        }),
      refusal: '404 principal_not_found',
      neighbourRefusal: null,
    },
  };
}

/** Free text of these operations that contains no id. */
export const signInText = [
  ...[
    'slug',
    'issuer',
    'display_name',
    'client_id',
    'client_secret',
    'extra_audiences[]',
    'redirect_uris[]',
  ].map((name) => `createIdentityProvider body ${name}`),
  ...['display_name', 'client_id', 'client_secret', 'extra_audiences[]', 'redirect_uris[]'].map(
    (name) => `updateIdentityProvider body ${name}`,
  ),
  'linkIdentity body subject',
];

/** The fixtures of the procedures about sign-in. */
export function signInProcedures(
  maker: Maker,
  listed: (path: string, twice: (place: Place) => Promise<unknown>) => ProcedureFixture,
): Record<string, ProcedureFixture> {
  const made = new SignInMaker(maker);
  const provider = { unknown: newId, code: '404 identity_provider_not_found' };
  const ofProvider = async (place: Place) => ({ identity_provider_id: await made.provider(place) });
  const ids = { identity_provider_id: provider };
  return {
    'sessions.list': listed('sessions.list', (place) => made.session(place)),
    'sessions.own': listed('sessions.own', (place) => made.session(place)),
    'sessions.signOut': {
      input: async () => ({}),
      ids: {},
      token: async (place) => (await made.session(place)).accessToken,
    },
    'sessions.revoke': {
      input: async (place) => ({ session_id: (await made.session(place)).id }),
      ids: { session_id: { unknown: newId, code: '404 session_not_found' } },
    },
    'identityProviders.list': listed('identityProviders.list', (place) => made.provider(place)),
    'identityProviders.get': { input: ofProvider, ids },
    'identityProviders.add': { input: async () => providerBody(), ids: {} },
    'identityProviders.update': {
      input: async (place) => ({ ...(await ofProvider(place)), display_name: 'Everybody' }),
      ids,
    },
    'identityProviders.link': {
      input: async (place) => ({
        ...(await ofProvider(place)),
        principal_id: await made.user(place),
        subject: newKey(),
      }),
      ids: { ...ids, principal_id: { unknown: newId, code: '404 principal_not_found' } },
    },
  };
}

/** Free text of their inputs. A session's owner is a filter: no principal has sessions in another tenant. */
export const signInProcedureText = [
  'sessions.list principal_id',
  ...signInText
    .filter((position) => position.includes('IdentityProvider body'))
    .map((position) =>
      position
        .replace('createIdentityProvider body', 'identityProviders.add')
        .replace('updateIdentityProvider body', 'identityProviders.update'),
    ),
  'identityProviders.link subject',
];
