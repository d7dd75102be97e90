import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { createApiKey } from '#domain/identity/api-keys/create-api-key.ts';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { addModel, type NewModel } from '#domain/capabilities/models/add-model.ts';
import { builtinSettings } from '#domain/capabilities/models/builtin-settings.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { allowModels } from '#domain/workspace/spaces/allow-models.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { createTenant } from '#domain/workspace/tenants/create-tenant.ts';
import { masterKey } from './stack.ts';

export const secrets = new Secrets(masterKey);

/** A tenant with an owner, a space and the models that its answers may use. */
export interface World {
  tenantId: string;
  spaceId: string;
  owner: Actor;
  /** The owner's API key. */
  apiKey: string;
  modelIds: string[];
}

let counter = 0;

/** Builds a world through the ordinary use cases. The last model is the default; `builtin` is always allowed. */
export async function createWorld(unitOfWork: UnitOfWork, models: NewModel[] = []): Promise<World> {
  const tenantId = newId();
  counter += 1;
  const slug = `tenant-${process.pid}-${counter}-${tenantId.slice(-6)}`;
  return unitOfWork.inTenant(tenantId, async (em) => {
    const owner = { id: newId(), type: 'service_account' as const, name: 'owner' };
    const actor = await createTenant(
      em,
      { id: tenantId, slug, name: slug, owner },
      { via: 'cli', requestId: null },
    );
    const space = await createSpace(em, actor, { name: 'Space' });
    const modelIds: string[] = [];
    for (const model of [builtinSettings, ...models]) {
      modelIds.push((await addModel(em, actor, model)).id);
    }
    await allowModels(em, actor, { space, modelIds, defaultModelId: modelIds.at(-1)! });
    const key = await createApiKey(
      { em, secrets, actor },
      { principalId: owner.id, name: 'test', permissions: null },
    );
    return { tenantId, spaceId: space.id, owner: actor, apiKey: key.token, modelIds };
  });
}

export interface NewMember {
  /** Role in the world's space; null: no member of it. */
  spaceRole?: string | null;
  tenantRoles?: string[];
  /** The maximum permissions of the key; null: those of its principal. */
  keyPermissions?: Permission[] | null;
}

/** One more principal of the world's tenant, with a key. */
export async function addMember(
  unitOfWork: UnitOfWork,
  world: World,
  options: NewMember = {},
): Promise<{ principalId: string; apiKey: string; keyId: string }> {
  return unitOfWork.inTenant(world.tenantId, async (em) => {
    const principal = em.create(Principal, {
      tenantId: world.tenantId,
      id: newId(),
      type: 'user',
      name: 'member',
    });
    await em.flush();
    const spaceRole = options.spaceRole === undefined ? 'space_member' : options.spaceRole;
    if (spaceRole !== null) {
      em.create(SpaceMember, {
        tenantId: world.tenantId,
        spaceId: world.spaceId,
        principalId: principal.id,
        roleKey: spaceRole,
      });
    }
    for (const roleKey of options.tenantRoles ?? []) {
      em.create(RoleAssignment, { tenantId: world.tenantId, principalId: principal.id, roleKey });
    }
    const key = await createApiKey(
      { em, secrets, actor: world.owner },
      { principalId: principal.id, name: 'test', permissions: options.keyPermissions ?? null },
    );
    return { principalId: principal.id, apiKey: key.token, keyId: key.token.split('.')[1]! };
  });
}

/** A model of a scripted server: `script` names its script. */
export function scriptedModel(
  server: { url: string },
  script: string,
  continuation: NewModel['continuation'] = 'instruct',
): NewModel {
  return {
    alias: script,
    providerKind: 'openai_compatible',
    providerModel: script,
    baseUrl: server.url,
    credentialRef: null,
    continuation,
    supportsReasoning: false,
    contextWindow: 100_000,
    maxOutputTokens: 8_000,
    price: {
      inputMicroUsdPerMillion: 2_500_000n,
      cachedInputMicroUsdPerMillion: 250_000n,
      outputMicroUsdPerMillion: 10_000_000n,
    },
  };
}
