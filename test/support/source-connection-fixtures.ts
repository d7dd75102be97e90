import { newId } from '#domain/foundation/kernel/ids.ts';
import { ConnectionMaker, donePage } from './connection-fixtures.ts';
import { keyedBody } from './connector-fixtures.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Maker, Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { callAt, spaceFixtures } from './space-fixtures.ts';

/** Free text of operations and procedures that contains no id. */
export const sourceConnectionText = ['initiateConnectorConnection query redirect_uri'];
export const sourceConnectionProcedureText = ['connectors.connect redirect_uri'];

const [space, collection, connector] = ['space', 'collection', 'connector'].map((name) => ({
  unknown: newId,
  code: `404 ${name}_not_found`,
}));

interface Home {
  spaceId: string;
  collectionId: string;
  connectorId: string;
}

/** Makes connectors whose account is connected. */
class SourceConnectionMaker {
  readonly #maker: Maker;
  readonly #clients: ConnectionMaker;
  readonly #homes = new Map<string, Home>();

  constructor(maker: Maker) {
    this.#maker = maker;
    this.#clients = new ConnectionMaker(maker);
  }

  client(place: Place): Promise<string> {
    return this.#clients.client(place);
  }

  async connected(place: Place): Promise<Home> {
    const collectionId = await this.#maker.collection(place);
    const body = { ...keyedBody, client_credential_id: await this.client(place) };
    const made = await this.#maker.send(
      callAt(place, 'POST', `collections/${collectionId}/connectors`, { body }),
    );
    const home = { spaceId: place.spaceId, collectionId, connectorId: made.body.data.id as string };
    await this.#maker.unitOfWork.inTenant(place.tenantId, (em) =>
      em.execute(
        `insert into mcp_connections
           (tenant_id, id, connector_id, space_id, connected_by, status, issuer, resource, target)
         select c.tenant_id, gen_random_uuid(), c.id, c.space_id, c.principal_id, 'connected',
           'https://login.example.com', ?, '{}' from connectors c where c.id = ?`,
        [keyedBody.scope_config.origin, home.connectorId],
      ),
    );
    this.#homes.set(home.collectionId, home);
    this.#homes.set(home.connectorId, home);
    return home;
  }

  /** The home of an id of the place, else a home of the place's own. */
  async homeFor(place: Place, id: string): Promise<Home> {
    const home = this.#homes.get(id);
    return home?.spaceId === place.spaceId ? home : this.connected(place);
  }
}

/** How each operation on the connections of connectors is tried. */
export function sourceConnectionFixtures(maker: Maker): Record<string, IdFixture> {
  const { spaceOf } = spaceFixtures(maker);
  const connections = new SourceConnectionMaker(maker);
  const pathOf = ({ collectionId, connectorId }: Omit<Home, 'spaceId'>, suffix: string) =>
    `collections/${collectionId}/connectors/${connectorId}/connection${suffix}`;
  const ofOne = (operation: string, method: string, suffix = ''): Record<string, IdFixture> => ({
    [`${operation} path space_id`]: spaceOf(method, async (place) =>
      pathOf(await connections.connected(place), suffix),
    ),
    [`${operation} path collection_id`]: {
      make: async (place) => (await connections.connected(place)).collectionId,
      unknown: newId,
      call: async (place, id) => {
        const { connectorId } = await connections.homeFor(place, id);
        return callAt(place, method, pathOf({ collectionId: id, connectorId }, suffix));
      },
      refusal: '404 collection_not_found',
    },
    [`${operation} path connector_id`]: {
      make: async (place) => (await connections.connected(place)).connectorId,
      unknown: newId,
      call: async (place, id) => {
        const { collectionId } = await connections.homeFor(place, id);
        return callAt(place, method, pathOf({ collectionId, connectorId: id }, suffix));
      },
      refusal: '404 connector_not_found',
    },
  });
  const ofClient = (send: (place: Place, body: object) => Promise<Call>): IdFixture => ({
    make: (place) => connections.client(place),
    gone: async (place) => {
      const id = await connections.client(place);
      await maker.remove(place, `credentials/${id}`);
      return id;
    },
    unknown: newId,
    call: (place, id) => send(place, { client_credential_id: id }),
    refusal: '422 invalid_request',
  });
  const all = async (place: Place) => `collections/${await maker.collection(place)}/connectors`;
  const created = (suffix: string) => async (place: Place, body: object) =>
    callAt(place, 'POST', (await all(place)) + suffix, { body: { ...keyedBody, ...body } });
  const redirect = `?redirect_uri=${encodeURIComponent(donePage)}`;
  return {
    ...ofOne('initiateConnectorConnection', 'POST', `/initiate${redirect}`),
    ...ofOne('getConnectorConnection', 'GET'),
    ...ofOne('deleteConnectorConnection', 'DELETE'),
    'createConnector body client_credential_id': ofClient(created('')),
    'checkConnector body client_credential_id': ofClient(created('/check')),
    'updateConnector body client_credential_id': ofClient(async (place, body) => {
      const path = await all(place);
      const made = await maker.send(callAt(place, 'POST', path, { body: keyedBody }));
      return callAt(place, 'PATCH', `${path}/${made.body.data.id}`, { body });
    }),
  };
}

/** How each procedure on them is tried. */
export function sourceConnectionProcedures({ maker }: { maker: Maker }): Record<string, ProcedureFixture> {
  const connections = new SourceConnectionMaker(maker);
  const one = async (place: Place) => {
    const { spaceId, collectionId, connectorId } = await connections.connected(place);
    return { space_id: spaceId, collection_id: collectionId, connector_id: connectorId };
  };
  const ids = { space_id: space!, collection_id: collection!, connector_id: connector! };
  return {
    'connectors.connect': { input: one, ids },
    'connectors.connection': { input: one, ids },
    'connectors.disconnect': { input: one, ids },
  };
}
