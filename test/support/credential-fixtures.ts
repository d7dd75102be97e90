import { newId } from '#domain/foundation/kernel/ids.ts';
import { valueMembers } from '#domain/capabilities/credentials/credential-value.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import { credentialBody, modelBody, vendorOrigin, type Maker, type Place } from './places.ts';
import { callAt, newKey, someCursor, spaceFixtures } from './space-fixtures.ts';

const changes = { value: { token: 'tk-rotated-9d41' } };

const words = ['name', 'origin', ...valueMembers.map((member) => `value.${member}`)];
const ofUpdate = words.filter((word) => word !== 'origin');

/** Free text of operations that contains no id. */
export const credentialText = ['Credential', 'TenantCredential'].flatMap((thing) => [
  ...words.map((word) => `create${thing} body ${word}`),
  ...ofUpdate.map((word) => `update${thing} body ${word}`),
]);

/** The same of procedures. */
export const credentialProcedureText = ['credentials', 'tenantCredentials'].flatMap((group) => [
  ...words.map((word) => `${group}.create ${word}`),
  ...ofUpdate.map((word) => `${group}.update ${word}`),
]);

const admin = (place: Place, method: string, path: string, more: Partial<Call> = {}): Call => ({
  method,
  path: `/v1/admin/${path}`,
  apiKey: place.apiKey,
  ...more,
});

/** Operations on the tenant's credentials that hold no id, right in everything. */
export const plainCredentialCalls: Record<string, (place: Place) => Call> = {
  createTenantCredential: (place) =>
    admin(place, 'POST', 'credentials', { body: { ...credentialBody(), origin: vendorOrigin } }),
  listTenantCredentials: (place) => admin(place, 'GET', 'credentials'),
};

/** Fixtures of credentials, and of what refers to them. */
export function credentialFixtures(maker: Maker): Record<string, IdFixture> {
  const { spaceOf, freshKey, cursorOf } = spaceFixtures(maker);
  const aCredential = async (place: Place) => `credentials/${await maker.credential(place)}`;
  const inSpace = {
    make: (place: Place) => maker.credential(place),
    gone: async (place: Place) => {
      const id = await maker.credential(place);
      await maker.remove(place, `credentials/${id}`);
      return id;
    },
    unknown: newId,
  };
  const inTenant = {
    make: (place: Place) => maker.tenantCredential(place),
    gone: async (place: Place) => {
      const id = await maker.tenantCredential(place);
      await maker.send(admin(place, 'DELETE', `credentials/${id}`));
      return id;
    },
    unknown: newId,
    neighbourRefusal: null,
  };
  const credentialIn = (method: string, body?: object): IdFixture => ({
    ...inSpace,
    call: async (place, id) => callAt(place, method, `credentials/${id}`, body && { body }),
    refusal: '404 credential_not_found',
  });
  const tenantCredentialIn = (method: string, body?: object): IdFixture => ({
    ...inTenant,
    call: async (place, id) => admin(place, method, `credentials/${id}`, body && { body }),
    refusal: '404 credential_not_found',
  });
  const refusal = '422 invalid_request';
  const bodies = new Map<string, object>();
  const bodyOf = (id: string): object => {
    const body = bodies.get(id) ?? { ...credentialBody(), origin: vendorOrigin };
    bodies.set(id, body);
    return body;
  };
  const spaceBodies = new Map<string, object>();
  const keyedTenant = async (place: Place, id: string) =>
    admin(place, 'POST', 'credentials', {
      // A name is taken once: one body for each key and tenant.
      body: bodyOf(`${place.tenantId} ${id}`),
      headers: { 'idempotency-key': id },
    });
  return {
    'createCredential path space_id': spaceOf('POST', async () => 'credentials', credentialBody),
    'createCredential header idempotency-key': freshKey(
      async () => 'credentials',
      (seed) => {
        const body = spaceBodies.get(seed) ?? credentialBody();
        spaceBodies.set(seed, body);
        return body;
      },
    ),
    'listCredentials path space_id': spaceOf('GET', async () => 'credentials'),
    'listCredentials query cursor': cursorOf(async (place) => {
      await maker.credential(place);
      await maker.credential(place);
      return 'credentials';
    }),
    'getCredential path space_id': spaceOf('GET', aCredential),
    'getCredential path credential_id': credentialIn('GET'),
    'updateCredential path space_id': spaceOf('PATCH', aCredential, changes),
    'updateCredential path credential_id': credentialIn('PATCH', changes),
    'deleteCredential path space_id': spaceOf('DELETE', aCredential),
    'deleteCredential path credential_id': credentialIn('DELETE'),
    'createTenantCredential header idempotency-key': {
      make: async (place) => {
        const id = newKey();
        await maker.send(await keyedTenant(place, id));
        return id;
      },
      unknown: newKey,
      call: keyedTenant,
      refusal: 'fresh',
      neighbourRefusal: null,
    },
    'listTenantCredentials query cursor': {
      make: async (place) => {
        await maker.tenantCredential(place);
        await maker.tenantCredential(place);
        const page = await maker.send(admin(place, 'GET', 'credentials?limit=1'));
        return page.body.meta.next_cursor as string;
      },
      unknown: someCursor,
      call: async (place, id) => admin(place, 'GET', `credentials?cursor=${id}`),
      refusal: '422 invalid_cursor',
      neighbourRefusal: null,
    },
    'getTenantCredential path credential_id': tenantCredentialIn('GET'),
    'updateTenantCredential path credential_id': tenantCredentialIn('PATCH', changes),
    'deleteTenantCredential path credential_id': tenantCredentialIn('DELETE'),
    'registerServer body credential_id': {
      ...inSpace,
      call: async (place, id) =>
        callAt(place, 'POST', 'mcp-servers', {
          body: {
            slug: `s-${newId().slice(-12)}`,
            display_name: 'Tools',
            url: 'https://tools.example.com/mcp',
            credential_id: id,
          },
        }),
      refusal,
    },
    'updateServer body credential_id': {
      ...inSpace,
      call: async (place, id) =>
        callAt(place, 'PATCH', `mcp-servers/${(await maker.server(place)).id}`, {
          body: { credential_id: id },
        }),
      refusal,
    },
    'addModel body credential_id': {
      ...inTenant,
      call: async (place, id) =>
        admin(place, 'POST', 'models', { body: { ...modelBody(), credential_id: id } }),
      refusal,
    },
    'updateModel body credential_id': {
      ...inTenant,
      call: async (place, id) =>
        admin(place, 'PATCH', `models/${await maker.addedModel(place)}`, { body: { credential_id: id } }),
      refusal,
    },
  };
}
