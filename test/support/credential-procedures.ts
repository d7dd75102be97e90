import { randomBytes } from 'node:crypto';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { credentialBody, modelBody, vendorOrigin, type Maker, type Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';

const space = { unknown: newId, code: '404 space_not_found' };
const credential = { unknown: newId, code: '404 credential_not_found' };
const reference = { unknown: newId, code: '422 invalid_request' };
const cursor = { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' };

export interface CredentialParts {
  maker: Maker;
  cursorOf: (place: Place, path: string, input: object) => Promise<string>;
}

/** How each procedure on credentials is tried, and those whose input names one. */
export function credentialProcedures({ maker, cursorOf }: CredentialParts): Record<string, ProcedureFixture> {
  const at = ({ spaceId }: Place) => ({ space_id: spaceId });
  const inSpace = async (place: Place) => ({ ...at(place), credential_id: await maker.credential(place) });
  const inTenant = async (place: Place) => ({ credential_id: await maker.tenantCredential(place) });
  const ids = { space_id: space, credential_id: credential };
  const changes = () => ({ name: `name-${newId()}`, value: { token: 'tk-rotated-9d41' } });
  return {
    'credentials.list': {
      input: async (place) => {
        await maker.credential(place);
        await maker.credential(place);
        return { ...at(place), limit: 1, cursor: await cursorOf(place, 'credentials.list', at(place)) };
      },
      ids: { space_id: space, cursor },
    },
    'credentials.get': { input: inSpace, ids },
    'credentials.create': {
      input: async (place) => ({ ...at(place), ...credentialBody() }),
      ids: { space_id: space },
    },
    'credentials.update': { input: async (place) => ({ ...(await inSpace(place)), ...changes() }), ids },
    'credentials.delete': { input: inSpace, ids },
    'tenantCredentials.list': {
      input: async (place) => {
        await inTenant(place);
        await inTenant(place);
        return { limit: 1, cursor: await cursorOf(place, 'tenantCredentials.list', {}) };
      },
      ids: { cursor },
    },
    'tenantCredentials.get': { input: inTenant, ids: { credential_id: credential } },
    'tenantCredentials.create': {
      input: async () => ({ ...credentialBody(), origin: vendorOrigin }),
      ids: {},
    },
    'tenantCredentials.update': {
      input: async (place) => ({ ...(await inTenant(place)), ...changes() }),
      ids: { credential_id: credential },
    },
    'tenantCredentials.delete': { input: inTenant, ids: { credential_id: credential } },
    'toolServers.register': {
      input: async (place) => ({
        ...(await inSpace(place)),
        slug: `s-${randomBytes(6).toString('hex')}`,
        display_name: 'Tools',
        url: 'https://tools.example.com/mcp',
      }),
      ids: { space_id: space, credential_id: reference },
    },
    'models.add': {
      input: async (place) => ({
        ...modelBody(),
        alias: `made-${randomBytes(6).toString('hex')}`,
        ...(await inTenant(place)),
      }),
      ids: { credential_id: reference },
    },
    'models.update': {
      input: async (place) => {
        const body = modelBody();
        await maker.send({ method: 'POST', path: '/v1/admin/models', apiKey: place.apiKey, body });
        return { alias: body.alias, context_window: 100_000, ...(await inTenant(place)) };
      },
      ids: {
        alias: { unknown: () => `model-${newId()}`, code: '404 model_not_found' },
        credential_id: reference,
      },
    },
  };
}
