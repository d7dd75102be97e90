import { ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Caller } from '#domain/foundation/access/caller.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { registerProvider } from '#domain/identity/identity-providers/add-provider.ts';
import { updateProvider } from '#domain/identity/identity-providers/update-provider.ts';
import { piiSettings } from '#domain/governance/policy/pii-settings.ts';
import { updateGovernance } from '#domain/governance/policy/read-governance.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { disableModel } from '#domain/capabilities/models/disable-model.ts';
import { importPrices } from '#domain/capabilities/models/import-prices.ts';
import { registerModel } from '#domain/capabilities/models/register-model.ts';
import { updateModel } from '#domain/capabilities/models/update-model.ts';
import { createProject } from '#domain/workspace/projects/create-project.ts';
import { deleteProject } from '#domain/workspace/projects/delete-project.ts';
import { createSkill } from '#domain/capabilities/skills/create-skill.ts';
import { deleteSkill } from '#domain/capabilities/skills/delete-skill.ts';
import { draftVersion } from '#domain/capabilities/skills/draft-version.ts';
import { pinSkill } from '#domain/capabilities/skills/pin-skill.ts';
import { publishVersion } from '#domain/capabilities/skills/publish-version.ts';
import { removeMember } from '#domain/workspace/members/remove-member.ts';
import { setSpaceModels } from '#domain/workspace/spaces/set-space-models.ts';
import { updateSpace } from '#domain/workspace/spaces/update-space.ts';
import { suspendTenant } from '#domain/workspace/tenants/suspend-tenant.ts';
import { updateTenant } from '#domain/workspace/tenants/update-tenant.ts';
import { startThread, type StartThread } from '#domain/conversations/messages/start-thread.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { connect, untilBlocked } from '../../../support/tables.ts';
import { addMember, secrets } from '../../../support/world.ts';

type Work = (ctx: Context) => Promise<unknown>;

let engine: Engine;
let caller: Caller;

beforeAll(async () => {
  engine = await openEngine();
  caller = { ...(await engine.act(async (ctx) => ctx.caller)), granted: new Set(permissions) };
  for (const alias of ['first', 'second']) {
    await run((ctx) => registerModel(ctx, { ...claude, alias }));
  }
});
afterAll(() => engine.stop());

const claude = {
  providerKind: 'anthropic',
  providerModel: 'claude-sonnet-4-5',
  price: { input: '3', output: '15' },
} as const;

/** As an owner whose permissions were read before, since principals of a suspended tenant have none. */
const run = <T>(work: (ctx: Context) => Promise<T>): Promise<T> =>
  engine.database.unitOfWork.inTenant(engine.world.tenantId, async (em) => {
    // A wait here ends when the others wait, however slow the machine is.
    await em.execute(`set local lock_timeout = '20s'`);
    return work(createContext({ caller, em, secrets }));
  });

/**
 * The first operation has made its change before the others begin, and ends when each of them waits or has
 * ended.
 */
async function atOnce([first, ...others]: readonly [Work, ...Work[]]): Promise<
  PromiseSettledResult<unknown>[]
> {
  let ended = 0;
  let later: Promise<unknown>[] = [];
  const done = run(async (ctx) => {
    await first(ctx);
    await ctx.em.flush();
    later = others.map((work) => run(work).finally(() => (ended += 1)));
    void Promise.allSettled(later);
    await expect.poll(async () => ended + (await waiting()), { timeout: 8_000 }).toBe(others.length);
  });
  const begun = await Promise.allSettled([done]);
  return [...begun, ...(await Promise.allSettled(later))];
}

async function waiting(): Promise<number> {
  const { rows } = await engine.admin.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  );
  return rows[0]!.n;
}

/** The events written while `act` runs. */
async function deliveredOf(act: () => Promise<unknown>): Promise<string[]> {
  const read = async () =>
    (await engine.admin.query<{ id: string; event_type: string }>('select id, event_type from events')).rows;
  const known = new Set((await read()).map(({ id }) => id));
  await act();
  return (await read()).filter(({ id }) => !known.has(id)).map((row) => row.event_type);
}

const aCollection = async () =>
  (await run((ctx) => createCollection(ctx, { name: 'Harbours' }))).collection.id;
const upload = (collectionId: string) => (ctx: Context) =>
  uploadDocument(ctx, { collectionId, filename: 'a.txt', mediaType: 'text/plain', content: 'A beacon.' });
const aDocument = async () => {
  const collectionId = await aCollection();
  return { collectionId, documentId: (await run(upload(collectionId))).document.id };
};
const aProject = async () =>
  (await run((ctx) => createProject(ctx, { name: 'Pier', description: null }))).project.id;
const aProvider = async (slug = 'people') => {
  const { provider } = await run((ctx) =>
    registerProvider(ctx, {
      slug,
      displayName: 'People',
      issuer: 'https://people.example.com',
      clientId: 'client',
      clientSecret: null,
      signingAlg: 'RS256',
      extraAudiences: [],
      redirectUris: [],
      provisioning: 'known',
      strictRotation: false,
      idempotency: null,
    }),
  );
  return provider.id;
};
const aThread: StartThread = {
  content: 'Hello.',
  role: 'user',
  metadata: {},
  projectId: null,
  title: null,
  branchId: null,
  idempotency: null,
};
const aSkill = async () => {
  const named = { name: `skill-${newId()}`, description: null, idempotency: null };
  const { id: skillId } = (await run((ctx) => createSkill(ctx, named))).skill;
  const draft = { skillId, instructions: 'Rhyme.', allowedTools: [], notes: null, idempotency: null };
  const { id: versionId } = (await run((ctx) => draftVersion(ctx, draft))).version;
  await run((ctx) => publishVersion(ctx, { skillId, versionId }));
  return skillId;
};
const setModels =
  (...models: string[]): Work =>
  (ctx) =>
    setSpaceModels(ctx, { models, defaultModel: models[0]! });
const prices = (input: number) => ({
  anthropic: { models: { 'claude-sonnet-4-5': { cost: { input, output: 15 } } } },
});

describe('five concurrent requests', () => {
  const changes: [what: string, arrange: () => Promise<Work>, notified: string[]][] = [
    [
      'a tenant that is suspended',
      async () => (ctx) => suspendTenant(ctx, true),
      ['system.tenant_suspended'],
    ],
    ['a tenant that is resumed', async () => (ctx) => suspendTenant(ctx, false), ['system.tenant_resumed']],
    [
      'a model that is withdrawn',
      async () => (ctx) => disableModel(ctx, { alias: 'first', disabled: true }),
      ['system.model_removed'],
    ],
    [
      'a model that is brought back',
      async () => (ctx) => disableModel(ctx, { alias: 'first', disabled: false }),
      ['system.model_updated'],
    ],
    [
      'a model that is changed',
      async () => (ctx) => updateModel(ctx, { alias: 'first', contextWindow: 90_001 }),
      ['system.model_updated'],
    ],
    [
      'a price that is imported for two models',
      async () => (ctx) => importPrices(ctx, { document: prices(2) }),
      ['system.model_updated', 'system.model_updated'],
    ],
    ['a space that is given models', async () => setModels('first', 'second'), ['space.models_updated']],
    [
      'an identity provider that is changed',
      async () => {
        const providerId = await aProvider();
        return (ctx) => updateProvider(ctx, { providerId, displayName: 'Everybody' });
      },
      ['security.identity_provider_changed'],
    ],
  ];
  it.each(changes)('write one event: %s', async (_what, arrange, notified) => {
    const work = await arrange();
    const recorded = await deliveredOf(async () => {
      const ends = await atOnce([work, work, work, work, work]);
      expect(ends.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'fulfilled'));
    });
    expect(recorded).toEqual(notified);
  });

  const deletions: [what: string, arrange: () => Promise<Work>, notified: string, code: string][] = [
    [
      'a document',
      async () => {
        const ref = await aDocument();
        return (ctx) => deleteDocument(ctx, ref);
      },
      'collection.documents_deleted',
      'document_not_found',
    ],
    [
      'a collection',
      async () => {
        const { collectionId } = await aDocument();
        return (ctx) => deleteCollection(ctx, { collectionId });
      },
      'collection.deleted',
      'collection_not_found',
    ],
  ];
  it.each(deletions)('delete %s once', async (_what, arrange, notified, code) => {
    const work = await arrange();
    const recorded = await deliveredOf(async () => {
      const [first, ...others] = await atOnce([work, work, work, work, work]);
      expect(first).toMatchObject({ status: 'fulfilled' });
      expect(others).toMatchObject(Array.from({ length: 4 }, () => ({ reason: { code } })));
    });
    expect(recorded).toEqual([notified]);
  });
});

it('a space has the models of the last request, and no other', async () => {
  await run(setModels('paid'));
  await atOnce([setModels('first'), setModels('second')]);
  const { rows } = await engine.admin.query(
    `select m.alias, m.id = s.default_model_id as is_default from space_models a
     join models m on m.id = a.model_id join spaces s on s.id = a.space_id where a.space_id = $1`,
    [engine.world.spaceId],
  );
  expect(rows).toEqual([{ alias: 'second', is_default: true }]);
});

describe('a transaction that writes a dependent row blocks no change', () => {
  const changes: [what: string, table: string, arrange: () => Promise<[id: string, change: Work]>][] = [
    ['of a space’s models', 'spaces', async () => [engine.world.spaceId, setModels('second', 'first')]],
    [
      'of a space’s name',
      'spaces',
      async () => [engine.world.spaceId, (ctx) => updateSpace(ctx, { name: 'Bay' })],
    ],
    [
      'of what a space demands',
      'spaces',
      async () => [
        engine.world.spaceId,
        (ctx) => updateGovernance(ctx, piiSettings.parse({ language: 'de' })),
      ],
    ],
    [
      'of a tenant’s name',
      'tenants',
      async () => [engine.world.tenantId, (ctx) => updateTenant(ctx, { name: 'Coast' })],
    ],
    [
      'of an identity provider',
      'identity_providers',
      async () => {
        const providerId = await aProvider('others');
        return [providerId, (ctx) => updateProvider(ctx, { providerId, status: 'disabled' })];
      },
    ],
  ];
  it.each(changes)('%s', async (_what, table, arrange) => {
    const [id, change] = await arrange();
    const admin = await connect(engine.database.adminUrl);
    onTestFinished(() => admin.end());
    await admin.query('begin');
    // As the check of a foreign key does, until the end of the transaction that adds the row.
    await admin.query(
      `select from ${table} where ${table === 'tenants' ? 'tenant_id' : 'id'} = $1 for key share`,
      [id],
    );
    const notified = await deliveredOf(() =>
      run(async (ctx) => {
        await ctx.em.execute(`set local lock_timeout = '1s'`);
        await change(ctx);
      }),
    );
    expect(notified).toHaveLength(1);
  });
});

describe('a row that is being deleted', () => {
  const uses: [what: string, arrange: () => Promise<[Work, Work]>, code: string][] = [
    [
      'a collection takes no document',
      async () => {
        const collectionId = await aCollection();
        return [(ctx) => deleteCollection(ctx, { collectionId }), upload(collectionId)];
      },
      'collection_not_found',
    ],
    [
      'a project gets no thread',
      async () => {
        const projectId = await aProject();
        return [
          (ctx) => deleteProject(ctx, { projectId }),
          (ctx) => startThread(ctx, { ...aThread, projectId }),
        ];
      },
      'project_not_found',
    ],
    [
      'a skill is given to no response',
      async () => {
        const skillId = await aSkill();
        return [(ctx) => deleteSkill(ctx, { skillId }), (ctx) => pinSkill(ctx, skillId)];
      },
      'skill_not_found',
    ],
  ];
  it.each(uses)('is missing for every other request: %s', async (_what, arrange, code) => {
    const [first, second] = await atOnce(await arrange());
    expect(first).toMatchObject({ status: 'fulfilled' });
    expect(second).toMatchObject({ reason: { code } });
  });
});

describe('an existing row is not reported as missing', () => {
  const uses: [what: string, arrange: () => Promise<Work>][] = [
    ['the collection of a document', async () => upload(await aCollection())],
    ['the project of a thread that has none', async () => (ctx) => startThread(ctx, aThread)],
    [
      'the skill of a response',
      async () => {
        const skillId = await aSkill();
        return (ctx) => pinSkill(ctx, skillId);
      },
    ],
  ];
  it.each(uses)('%s, where only the caller is missing', async (_what, arrange) => {
    const work = await arrange();
    const stranger = { ...caller, principalId: newId() };
    await expect(run((ctx) => work({ ...ctx, caller: stranger }))).rejects.toBeInstanceOf(
      ForeignKeyConstraintViolationException,
    );
  });
});

it('a principal leaving a space concurrently creates a project without being a member of it', async () => {
  const { principalId } = await addMember(engine.database.unitOfWork, engine.world, {});
  const [left, opened] = await atOnce([
    (ctx) => removeMember(ctx, { principalId }),
    (ctx) =>
      createProject({ ...ctx, caller: { ...ctx.caller, principalId } }, { name: 'Quay', description: null }),
  ]);
  expect([left, opened]).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  const { rows } = await engine.admin.query('select from project_members where principal_id = $1', [
    principalId,
  ]);
  expect(rows).toEqual([]);
});

it('a document that is read while its collection is deleted is deleted with it', async () => {
  const { collectionId, documentId } = await aDocument();
  const admin = await connect(engine.database.adminUrl);
  onTestFinished(() => admin.end());
  await admin.query('begin');
  await admin.query('select from collections where id = $1 for update', [collectionId]);
  const chunk = { heading: null, page: null, anchor: null, text: 'A beacon.', start: 0, end: 9 };
  const read = run(({ em }) => storePassages(em, documentId, [chunk]));
  const finished = run(({ em }) => finishIngestion(em, documentId, { documentId, generation: 1 }));
  await untilBlocked(admin);
  await admin.query('delete from collections where id = $1', [collectionId]);
  await admin.query('commit');
  expect(await read).toBeNull();
  expect((await finished).status).toBe('gone');
});
