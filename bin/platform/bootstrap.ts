import { createApiKey } from '#domain/access/create-api-key.ts';
import { newId } from '#domain/kernel/ids.ts';
import { addModel } from '#domain/models/add-model.ts';
import { builtinSettings } from '#domain/models/builtin-settings.ts';
import { allowModels } from '#domain/spaces/allow-models.ts';
import { createSpace } from '#domain/spaces/create-space.ts';
import { createTenant } from '#domain/tenants/create-tenant.ts';
import { print, withSession } from './session.ts';

/** The first tenant of an empty deployment: everything else is done with its key. */
export async function bootstrap(options: { slug: string; name: string; json?: boolean }): Promise<void> {
  await withSession(async ({ unitOfWork, secrets }) => {
    const tenantId = newId();
    const record = await unitOfWork.inTenant(tenantId, async (em) => {
      const owner = { id: newId(), type: 'service_account' as const, name: 'owner' };
      const actor = await createTenant(
        em,
        { id: tenantId, slug: options.slug, name: options.name, owner },
        { via: 'cli', requestId: null },
      );
      const space = await createSpace(em, actor, { name: 'General' });
      const model = await addModel(em, actor, builtinSettings);
      await allowModels(em, actor, { space, modelIds: [model.id], defaultModelId: model.id });
      const key = await createApiKey(
        { em, secrets, actor },
        { principalId: owner.id, name: 'bootstrap', permissions: null },
      );
      return { tenant_id: tenantId, principal_id: owner.id, space_id: space.id, api_key: key.token };
    });
    print(record, options.json);
  });
}
