import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import { connectorBody, type Maker, type Place } from './places.ts';
import { callAt, spaceFixtures } from './space-fixtures.ts';

/** A source that takes the credentials of `Maker.credential`. */
export const keyedBody = {
  provider_slug: 'memory',
  scope_config: { name: 'none', origin: 'https://tools.example.com' },
};
export const changedSchedule = { sync_schedule: { type: 'interval', minutes: 60 } };

const schedule = ['sync_schedule.expression', 'sync_schedule.timezone'];
const words = ['scope_config.*', ...schedule];

/** Free text of operations that contains no id. */
export const connectorText = [
  ...['createConnector', 'checkConnector'].flatMap((operation) =>
    ['provider_slug', ...schedule].map((word) => `${operation} body ${word}`),
  ),
  ...schedule.map((word) => `updateConnector body ${word}`),
];

/**
 * The same of procedures. Neither a client nor a tool server can stand beside the credential of their fixtures: those of
 * the operations are tried.
 */
export const connectorProcedureText = [
  ...['create', 'check', 'update'].map((verb) => `connectors.${verb} client_credential_id`),
  ...['create', 'check'].flatMap((verb) =>
    ['provider_slug', ...words].map((word) => `connectors.${verb} ${word}`),
  ),
  ...words.map((word) => `connectors.update ${word}`),
];

interface Home {
  spaceId: string;
  collectionId: string;
  connectorId: string;
}

/** Fixtures of connectors, their runs and the documents of their sources. */
export function connectorFixtures(maker: Maker): Record<string, IdFixture> {
  const { spaceOf, freshKey, cursorOf } = spaceFixtures(maker);
  /** Where a connector or a run was made. */
  const homes = new Map<string, Home>();
  const another = async (place: Place): Promise<Home> => {
    const collectionId = await maker.collection(place);
    const connectorId = await maker.connector(place, collectionId);
    const home = { spaceId: place.spaceId, collectionId, connectorId };
    homes.set(connectorId, home);
    return home;
  };
  /** The home of an id of the place, else a home of the place's own. */
  const homeFor = async (place: Place, id: string): Promise<Home> => {
    const home = homes.get(id);
    return home?.spaceId === place.spaceId ? home : another(place);
  };
  const pathOf = ({ collectionId, connectorId }: Home, suffix = ''): string =>
    `collections/${collectionId}/connectors/${connectorId}${suffix}`;
  const all = async (place: Place) => `collections/${await maker.collection(place)}/connectors`;
  const one = (suffix: string) => async (place: Place) => pathOf(await another(place), suffix);
  const given = (body: object | undefined): Partial<Call> => (body === undefined ? {} : { body });

  const inCollection = (
    method: string,
    suffix: string,
    { body, of }: { body?: object | undefined; of?: (place: Place, home: Home) => Promise<string> } = {},
  ): IdFixture => ({
    make: async (place) => {
      const home = await another(place);
      homes.set(home.collectionId, home);
      return home.collectionId;
    },
    unknown: newId,
    call: async (place, id) => {
      const home = await homeFor(place, id);
      const end = of === undefined ? suffix : await of(place, home);
      return callAt(place, method, `collections/${id}/connectors${end}`, given(body));
    },
    refusal: '404 collection_not_found',
  });
  const inConnector = (method: string, suffix: string, body?: object): IdFixture => ({
    make: async (place) => (await another(place)).connectorId,
    unknown: newId,
    call: async (place, id) => {
      const { collectionId } = await homeFor(place, id);
      const path = pathOf({ spaceId: place.spaceId, collectionId, connectorId: id }, suffix);
      return callAt(place, method, path, given(body));
    },
    refusal: '404 connector_not_found',
  });
  const ofOne = (method: string, suffix: string, body?: object): Record<string, IdFixture> => ({
    'path space_id': spaceOf(method, one(suffix), body),
    'path collection_id': inCollection(method, suffix, {
      body,
      of: async (_place, { connectorId }) => `/${connectorId}${suffix}`,
    }),
    'path connector_id': inConnector(method, suffix, body),
  });
  const runOf = (place: Place, { collectionId, connectorId }: Home) =>
    maker.syncRun(place, collectionId, connectorId);
  const ofRun = (method: string, suffix: string): Record<string, IdFixture> => ({
    'path space_id': spaceOf(method, async (place) => {
      const home = await another(place);
      return pathOf(home, `/sync/${await runOf(place, home)}${suffix}`);
    }),
    'path collection_id': inCollection(method, suffix, {
      of: async (place, home) => `/${home.connectorId}/sync/${await runOf(place, home)}${suffix}`,
    }),
    'path connector_id': {
      ...inConnector(method, suffix),
      call: async (place, id) => {
        const home = await homeFor(place, id);
        const run = await runOf(place, home);
        return callAt(place, method, pathOf({ ...home, connectorId: id }, `/sync/${run}${suffix}`));
      },
    },
    'path sync_id': {
      make: async (place) => {
        const home = await another(place);
        const run = await runOf(place, home);
        homes.set(run, home);
        return run;
      },
      unknown: newId,
      call: async (place, id) =>
        callAt(place, method, pathOf(await homeFor(place, id), `/sync/${id}${suffix}`)),
      refusal: '404 sync_run_not_found',
    },
  });
  const ofCredential = (send: (place: Place, body: object) => Promise<Call>): IdFixture => ({
    make: (place) => maker.credential(place),
    gone: async (place) => {
      const id = await maker.credential(place);
      await maker.remove(place, `credentials/${id}`);
      return id;
    },
    unknown: newId,
    call: (place, id) => send(place, { credential_id: id }),
    refusal: '422 invalid_request',
  });
  /** A tool server that a scope names. */
  const ofServer = (send: (place: Place, scope: object) => Promise<Call>): IdFixture => ({
    make: async (place) => (await maker.server(place)).id,
    gone: async (place) => {
      const { id } = await maker.server(place);
      await maker.remove(place, `mcp-servers/${id}`);
      return id;
    },
    unknown: newId,
    call: (place, id) => send(place, { name: 'none', server_id: id }),
    refusal: '422 invalid_request',
  });
  const serverBody = (scope_config: object) => ({ provider_slug: 'memory', scope_config });
  const named = (operation: string, fixtures: Record<string, IdFixture>): Record<string, IdFixture> =>
    Object.fromEntries(Object.entries(fixtures).map(([position, it]) => [`${operation} ${position}`, it]));
  const cancelled = async (place: Place, home: Home): Promise<void> => {
    const path = pathOf(home, `/sync/${await runOf(place, home)}/cancel`);
    await maker.send(callAt(place, 'POST', path));
  };

  return {
    ...named('createConnector', {
      'path space_id': spaceOf('POST', all, connectorBody),
      'path collection_id': inCollection('POST', '', { body: connectorBody }),
      'header idempotency-key': freshKey(all, connectorBody),
      'body credential_id': ofCredential(async (place, body) =>
        callAt(place, 'POST', await all(place), { body: { ...keyedBody, ...body } }),
      ),
      'body scope_config.*': ofServer(async (place, scope) =>
        callAt(place, 'POST', await all(place), { body: serverBody(scope) }),
      ),
    }),
    ...named('checkConnector', {
      'path space_id': spaceOf('POST', async (place) => `${await all(place)}/check`, connectorBody),
      'path collection_id': inCollection('POST', '/check', { body: connectorBody }),
      'body credential_id': ofCredential(async (place, body) =>
        callAt(place, 'POST', `${await all(place)}/check`, { body: { ...keyedBody, ...body } }),
      ),
      'body scope_config.*': ofServer(async (place, scope) =>
        callAt(place, 'POST', `${await all(place)}/check`, { body: serverBody(scope) }),
      ),
    }),
    ...named('listConnectors', {
      'path space_id': spaceOf('GET', all),
      'path collection_id': inCollection('GET', ''),
      'query cursor': cursorOf(async (place) => {
        const collectionId = await maker.collection(place);
        await maker.connector(place, collectionId);
        await maker.connector(place, collectionId);
        return `collections/${collectionId}/connectors`;
      }),
    }),
    ...named('getConnector', ofOne('GET', '')),
    ...named('updateConnector', {
      ...ofOne('PATCH', '', changedSchedule),
      'body credential_id': ofCredential(async (place, body) => {
        const path = await all(place);
        const made = await maker.send(callAt(place, 'POST', path, { body: keyedBody }));
        return callAt(place, 'PATCH', `${path}/${made.body.data.id}`, { body });
      }),
      'body scope_config.*': ofServer(async (place, scope_config) => {
        const path = await all(place);
        const body = serverBody({ name: 'none' });
        const made = await maker.send(callAt(place, 'POST', path, { body }));
        return callAt(place, 'PATCH', `${path}/${made.body.data.id}`, { body: { scope_config } });
      }),
    }),
    ...named('deleteConnector', ofOne('DELETE', '')),
    ...named('requestSync', {
      ...ofOne('POST', '/sync', {}),
      'header idempotency-key': { ...freshKey(one('/sync'), { mode: 'full' }), freshStatus: 202 },
    }),
    ...named('listSyncRuns', {
      ...ofOne('GET', '/sync'),
      'query cursor': cursorOf(async (place) => {
        const home = await another(place);
        await cancelled(place, home);
        await runOf(place, home);
        return pathOf(home, '/sync');
      }),
    }),
    ...named('getSyncRun', ofRun('GET', '')),
    ...named('cancelSyncRun', ofRun('POST', '/cancel')),
    ...named('listSourceDocuments', {
      ...ofOne('GET', '/documents'),
      'query cursor': cursorOf(async (place) => {
        const home = await another(place);
        await maker.sourceDocument(place, home.connectorId);
        await maker.sourceDocument(place, home.connectorId);
        return pathOf(home, '/documents');
      }),
    }),
  };
}
