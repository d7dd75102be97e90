import { newId } from '#domain/foundation/kernel/ids.ts';
import { changedSchedule, keyedBody } from './connector-fixtures.ts';
import type { Maker, Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';
import { callAt } from './space-fixtures.ts';

const space = { unknown: newId, code: '404 space_not_found' };
const collection = { unknown: newId, code: '404 collection_not_found' };
const connector = { unknown: newId, code: '404 connector_not_found' };
const run = { unknown: newId, code: '404 sync_run_not_found' };
const credential = { unknown: newId, code: '422 invalid_request' };
const cursor = { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' };

export interface ConnectorParts {
  maker: Maker;
  cursorOf: (place: Place, path: string, input: object) => Promise<string>;
}

/** How each procedure on connectors is tried. */
export function connectorProcedures({ maker, cursorOf }: ConnectorParts): Record<string, ProcedureFixture> {
  const at = async (place: Place) => ({
    space_id: place.spaceId,
    collection_id: await maker.collection(place),
  });
  const one = async (place: Place) => {
    const ref = await at(place);
    return { ...ref, connector_id: await maker.connector(place, ref.collection_id) };
  };
  const keyed = async (place: Place) => ({
    ...(await at(place)),
    ...keyedBody,
    credential_id: await maker.credential(place),
  });
  const aRun = async (place: Place) => {
    const ref = await one(place);
    return { ...ref, sync_id: await maker.syncRun(place, ref.collection_id, ref.connector_id) };
  };
  const inCollection = { space_id: space, collection_id: collection };
  const ids = { ...inCollection, connector_id: connector };
  const paged = async (place: Place, path: string, input: object) => ({
    ...input,
    limit: 1,
    cursor: await cursorOf(place, path, input),
  });
  return {
    'connectors.providers': { input: async () => ({}), ids: {} },
    'connectors.create': { input: keyed, ids: { ...inCollection, credential_id: credential } },
    'connectors.check': { input: keyed, ids: { ...inCollection, credential_id: credential } },
    'connectors.list': {
      input: async (place) => {
        const ref = await at(place);
        await maker.connector(place, ref.collection_id);
        await maker.connector(place, ref.collection_id);
        return paged(place, 'connectors.list', ref);
      },
      ids: { ...inCollection, cursor },
    },
    'connectors.get': { input: one, ids },
    'connectors.update': {
      input: async (place) => {
        const ref = await at(place);
        const path = `collections/${ref.collection_id}/connectors`;
        const made = await maker.send(callAt(place, 'POST', path, { body: keyedBody }));
        const connector_id = made.body.data.id as string;
        return { ...ref, connector_id, credential_id: await maker.credential(place), ...changedSchedule };
      },
      ids: { ...ids, credential_id: credential },
    },
    'connectors.delete': { input: one, ids },
    'connectors.sync': { input: one, ids },
    'connectors.listRuns': {
      input: async (place) => {
        const { sync_id, ...ref } = await aRun(place);
        const path = `collections/${ref.collection_id}/connectors/${ref.connector_id}/sync`;
        await maker.send(callAt(place, 'POST', `${path}/${sync_id}/cancel`));
        await maker.syncRun(place, ref.collection_id, ref.connector_id);
        return paged(place, 'connectors.listRuns', ref);
      },
      ids: { ...ids, cursor },
    },
    'connectors.getRun': { input: aRun, ids: { ...ids, sync_id: run } },
    'connectors.cancel': { input: aRun, ids: { ...ids, sync_id: run } },
    'connectors.documents': {
      input: async (place) => {
        const ref = await one(place);
        await maker.sourceDocument(place, ref.connector_id);
        await maker.sourceDocument(place, ref.connector_id);
        return paged(place, 'connectors.documents', ref);
      },
      ids: { ...ids, cursor },
    },
  };
}
