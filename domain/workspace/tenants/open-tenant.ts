import type { EntityManager } from '@mikro-orm/postgresql';
import { createApiKey } from '#domain/identity/api-keys/create-api-key.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { addModel } from '#domain/capabilities/models/add-model.ts';
import { builtinSettings } from '#domain/capabilities/models/builtin-settings.ts';
import { allowModels } from '#domain/workspace/spaces/allow-models.ts';
import { sealPrincipal } from '#domain/foundation/events/seal-principal.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { createTenant } from './create-tenant.ts';

export interface OpenedTenant {
  tenantId: string;
  principalId: string;
  spaceId: string;
  /** The owner's key, shown once. */
  token: string;
}

/**
 * Creates a tenant that is ready for use: owner, key, a space and the builtin model. Runs in the new tenant's
 * context.
 */
export async function openTenant(
  work: { em: EntityManager; secrets: Secrets; origin: Actor['origin'] },
  input: { id: string; slug: string; name: string },
): Promise<OpenedTenant> {
  const { em, secrets, origin } = work;
  const owner = { id: newId(), type: 'service_account' as const, name: 'owner' };
  const actor = await createTenant(em, { ...input, owner }, origin);
  await sealPrincipal({ em, secrets }, { tenantId: input.id, email: null, ...owner });
  const space = await createSpace(em, actor, { name: 'General' });
  const model = await addModel(em, actor, builtinSettings);
  await allowModels(em, actor, { space, modelIds: [model.id], defaultModelId: model.id });
  const key = await createApiKey(
    { em, secrets, actor },
    { principalId: owner.id, name: 'first', permissions: null },
  );
  return { tenantId: input.id, principalId: owner.id, spaceId: space.id, token: key.token };
}
