import type { EntityManager } from '@mikro-orm/postgresql';
import { parseApiKey, secretMatches } from '#domain/identity/api-keys/api-key.ts';
import { ApiKey } from '#domain/identity/api-keys/api-key.entity.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { createApiKey } from '#domain/identity/api-keys/create-api-key.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { addModel } from '#domain/capabilities/models/add-model.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { allowModels } from '#domain/workspace/spaces/allow-models.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { createTenant } from '#domain/workspace/tenants/create-tenant.ts';
import { Tenant } from '#domain/workspace/tenants/tenant.entity.ts';
import { namedRoots } from '#adapters/sources/named-roots.ts';
import {
  copyDocuments,
  synchroniseDocuments,
  waitUntilSynchronised,
  type InSpace,
} from './demo-documents.ts';
import { seedIdentity } from './demo-identity.ts';
import { findModels } from './demo-models.ts';
import { print, withSession, type Session } from './session.ts';

/** Fixed, so that every start finds the same tenant. */
const tenantId = '00000000-0000-7000-8000-00000000de30';
const ownerId = '00000000-0000-7000-8000-00000000de31';
const origin = { via: 'cli', requestId: null } as const;
const actor: Actor = { tenantId, principalId: ownerId, principalType: 'service_account', origin };

export interface DemoOptions {
  json?: boolean;
  /** Seconds to wait at most for a worker to make the documents searchable. */
  wait?: number;
}

/** Creates or refreshes the demo tenant through the ordinary use cases; safe to run at every start. */
export async function demo(options: DemoOptions): Promise<void> {
  await withSession(async (session) => {
    const { space, model } = await seedSpace(session);
    await seedSignIn(session, space.id);
    const collectionId = await inSpace(session, space.id, seedCollection);
    const inDemo: InSpace = (work) => inSpace(session, space.id, work);
    const folder = namedRoots(process.env.CONNECTOR_ROOTS?.split(',').filter(Boolean) ?? []).get(
      'documentation',
    );
    if (folder !== undefined) {
      copyDocuments(folder);
      await synchroniseDocuments(inDemo, collectionId);
    }
    const record = {
      tenant_id: tenantId,
      space_id: space.id,
      collection_id: collectionId,
      api_key: await ensureKey(session, process.env.DEMO_API_KEY),
      model_alias: model.alias,
    };
    const documents = await waitUntilSynchronised(inDemo, collectionId, options.wait ?? 0);
    const state = { documents_reading: documents.reading, documents_unembedded: documents.unembedded };
    print({ ...record, ...state }, options.json);
  });
}

/** One use case as the demo's owner. The relays start the workflows that it enqueues. */
function inSpace<T>(
  { unitOfWork, secrets }: Session,
  spaceId: string,
  work: (ctx: Context) => Promise<T>,
): Promise<T> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    const identity = { tenantId, principalId: ownerId, apiKeyId: null, keyPermissions: null };
    const caller = await loadCaller(em, identity, origin, spaceId);
    return work(createContext({ caller, em, secrets }));
  });
}

async function seedSpace({ unitOfWork }: Session): Promise<{ space: Space; model: Model }> {
  const found = await findModels(process.env);
  return unitOfWork.inTenant(tenantId, async (em) => {
    if ((await em.findOne(Tenant, { id: tenantId }, { filters: false })) === null) {
      const owner = { id: ownerId, type: 'service_account' as const, name: 'Demo owner' };
      await createTenant(em, { id: tenantId, slug: 'demo', name: 'Demo', owner }, origin);
      await em.flush();
    }
    const space = (await em.findOne(Space, { name: 'Demo' })) ?? (await createDemoSpace(em));
    const models: Model[] = [];
    for (const settings of found) {
      models.push(
        (await em.findOne(Model, { alias: settings.alias })) ?? (await addModel(em, actor, settings)),
      );
    }
    await em.flush();
    const model = models.at(-1);
    if (model === undefined) {
      throw new Error('The demo has no model.');
    }
    if (space.defaultModelId !== model.id) {
      await allowModels(em, actor, { space, modelIds: models.map(({ id }) => id), defaultModelId: model.id });
    }
    return { space, model };
  });
}

/** Its documents serve every client, including clients that name no tools. */
async function createDemoSpace(em: EntityManager): Promise<Space> {
  const space = await createSpace(em, actor, { name: 'Demo' });
  space.policy = { ...space.policy, openai_tools: 'granted' };
  return space;
}

/** Only where the launcher has started an identity provider. */
async function seedSignIn({ unitOfWork, secrets }: Session, spaceId: string): Promise<void> {
  const { DEMO_ISSUER: issuer, DEMO_CLIENT_SECRET: clientSecret, PUBLIC_URL: publicUrl } = process.env;
  if (issuer !== undefined && clientSecret !== undefined && publicUrl !== undefined) {
    await unitOfWork.inTenant(tenantId, (em) =>
      seedIdentity({ em, secrets, actor }, spaceId, { issuer, clientSecret, publicUrl }),
    );
  }
}

async function seedCollection(ctx: Context): Promise<string> {
  const known = await ctx.em.findOne(Collection, { name: 'Platform documentation' });
  if (known !== null) {
    return known.id;
  }
  const { collection } = await createCollection(ctx, {
    name: 'Platform documentation',
    description: 'README, guides and the API reference of this project.',
  });
  return collection.id;
}

/** The key of an earlier start when it still works, else a new one. */
async function ensureKey({ unitOfWork, secrets }: Session, given: string | undefined): Promise<string> {
  const parsed = given === undefined ? null : parseApiKey(given);
  return unitOfWork.inTenant(tenantId, async (em) => {
    const row = parsed === null ? null : await em.findOne(ApiKey, { keyId: parsed.keyId });
    const valid = row !== null && row.revokedAt == null && row.expiresAt > new Date();
    if (
      given !== undefined &&
      parsed !== null &&
      valid &&
      secretMatches(secrets, parsed.secret, row.secretHash)
    ) {
      return given;
    }
    const key = await createApiKey(
      { em, secrets, actor },
      { principalId: ownerId, name: 'demo', permissions: null },
    );
    return key.token;
  });
}
