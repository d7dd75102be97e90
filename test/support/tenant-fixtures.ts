import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import { modelBody, type Maker, type Place } from './places.ts';
import { newKey, someCursor } from './space-fixtures.ts';

const skillBody = () => ({ name: `skill-${newId()}` });
const draftBody = { instructions: 'Answer in rhymes.' };

const admin = (place: Place, method: string, path: string, more: Partial<Call> = {}): Call => ({
  method,
  path: `/v1/admin/${path}`,
  apiKey: place.apiKey,
  ...more,
});

/**
 * Fixtures of operations on resources of a tenant: its ids are valid for another space of the same tenant.
 */
export function tenantFixtures(maker: Maker): Record<string, IdFixture> {
  const keyed = (send: (place: Place, id: string) => Promise<Call>): IdFixture => ({
    make: async (place) => {
      const id = newKey();
      await maker.send(await send(place, id));
      return id;
    },
    unknown: newKey,
    call: send,
    refusal: 'fresh',
    // the same principal at the same operation
    neighbourRefusal: null,
  });
  const cursorOf = (list: (place: Place) => Promise<string>): IdFixture => {
    const lists = new Map<string, Promise<string>>();
    const listOf = (place: Place) =>
      lists.get(place.tenantId) ?? lists.set(place.tenantId, list(place)).get(place.tenantId)!;
    return {
      make: async (place) => {
        const page = await maker.send(admin(place, 'GET', `${await listOf(place)}?limit=1`));
        return page.body.meta.next_cursor as string;
      },
      unknown: someCursor,
      call: async (place, id) => admin(place, 'GET', `${await listOf(place)}?cursor=${id}`),
      refusal: '422 invalid_cursor',
      neighbourRefusal: null,
    };
  };

  /** The place of a version or its skill, and the skill or version that belongs to it. */
  const homes = new Map<string, { tenantId: string; skillId: string; versionId: string }>();
  const version = async (place: Place, state: 'draft' | 'published') => {
    const skillId = await maker.skill(place);
    const versionId = await maker.skillVersion(place, skillId);
    if (state === 'published') {
      await maker.publish(place, { skill_id: skillId, version_id: versionId });
    }
    const home = { tenantId: place.tenantId, skillId, versionId };
    homes.set(skillId, home).set(versionId, home);
    return home;
  };
  const removed = async (place: Place, skillId: string) => {
    await maker.send(admin(place, 'DELETE', `skills/${skillId}`));
    return skillId;
  };
  const skillIn = (method: string, body?: object): IdFixture => ({
    make: (place) => maker.skill(place),
    gone: async (place) => removed(place, await maker.skill(place)),
    unknown: newId,
    call: async (place, id) => admin(place, method, `skills/${id}`, body && { body }),
    refusal: '404 skill_not_found',
    neighbourRefusal: null,
  });
  const versionsIn = (method: string, body?: object): IdFixture => ({
    ...skillIn(method),
    call: async (place, id) => admin(place, method, `skills/${id}/versions`, body && { body }),
  });
  interface OneVersion {
    state: 'draft' | 'published';
    suffix?: string;
    body?: object;
  }
  const versionOf = (method: string, { state, suffix = '', body }: OneVersion) => {
    const call = (place: Place, skillId: string, versionId: string) =>
      admin(place, method, `skills/${skillId}/versions/${versionId}${suffix}`, body && { body });
    const bySkill: IdFixture = {
      ...skillIn(method),
      make: async (place) => (await version(place, state)).skillId,
      call: async (place, id) => call(place, id, homes.get(id)?.versionId ?? newId()),
    };
    const byVersion: IdFixture = {
      make: async (place) => (await version(place, state)).versionId,
      gone: async (place) => {
        const { skillId, versionId } = await version(place, state);
        await removed(place, skillId);
        homes.delete(versionId);
        return versionId;
      },
      unknown: newId,
      call: async (place, id) => {
        const home = homes.get(id);
        const own = home?.tenantId === place.tenantId ? home.skillId : (await version(place, state)).skillId;
        return call(place, own, id);
      },
      refusal: '404 skill_version_not_found',
      neighbourRefusal: null,
    };
    return { bySkill, byVersion };
  };
  const versions = {
    getSkillVersion: versionOf('GET', { state: 'draft' }),
    editSkillDraft: versionOf('PATCH', { state: 'draft', body: { notes: 'Better.' } }),
    publishSkillVersion: versionOf('POST', { state: 'draft', suffix: '/publish' }),
    deprecateSkillVersion: versionOf('POST', { state: 'published', suffix: '/deprecate' }),
  };
  const modelIn = (method: string, body?: object): IdFixture => ({
    make: (place) => maker.addedModel(place),
    unknown: newId,
    call: async (place, id) => admin(place, method, `models/${id}`, body && { body }),
    refusal: '404 model_not_found',
    neighbourRefusal: null,
  });

  return {
    'createSkill header idempotency-key': keyed(async (place, id) =>
      admin(place, 'POST', 'skills', { body: { name: id }, headers: { 'idempotency-key': id } }),
    ),
    'listSkills query cursor': cursorOf(async (place) => {
      await maker.skill(place);
      await maker.skill(place);
      return 'skills';
    }),
    'getSkill path skill_id': skillIn('GET'),
    'updateSkill path skill_id': skillIn('PATCH', { description: 'Rhymes.' }),
    'deleteSkill path skill_id': skillIn('DELETE'),
    'draftSkillVersion path skill_id': versionsIn('POST', draftBody),
    'draftSkillVersion header idempotency-key': keyed(async (place, id) => {
      const { skillId } = await version(place, 'draft');
      const headers = { 'idempotency-key': id };
      return admin(place, 'POST', `skills/${skillId}/versions`, { body: draftBody, headers });
    }),
    'listSkillVersions path skill_id': versionsIn('GET'),
    'listSkillVersions query cursor': cursorOf(async (place) => {
      const { skillId } = await version(place, 'draft');
      await maker.skillVersion(place, skillId);
      return `skills/${skillId}/versions`;
    }),
    ...Object.fromEntries(
      Object.entries(versions).flatMap(([operation, { bySkill, byVersion }]) => [
        [`${operation} path skill_id`, bySkill],
        [`${operation} path version_id`, byVersion],
      ]),
    ),
    'addModel header idempotency-key': keyed(async (place, id) => {
      const headers = { 'idempotency-key': id };
      return admin(place, 'POST', 'models', { body: { ...modelBody(), alias: id }, headers });
    }),
    'listTenantModels query cursor': cursorOf(async (place) => {
      await maker.addedModel(place);
      await maker.addedModel(place);
      return 'models';
    }),
    'getModel path model_id': modelIn('GET'),
    'updateModel path model_id': modelIn('PATCH', { context_window: 100_000 }),
  };
}

/** Valid operations of a tenant without an id. */
export const plainCalls: Record<string, (place: Place) => Call> = {
  createSkill: (place) => admin(place, 'POST', 'skills', { body: skillBody() }),
  listSkills: (place) => admin(place, 'GET', 'skills'),
  addModel: (place) => admin(place, 'POST', 'models', { body: modelBody() }),
  listTenantModels: (place) => admin(place, 'GET', 'models'),
};
