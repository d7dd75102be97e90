import { createApiKey } from '#domain/identity/api-keys/create-api-key.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { platformTenantId } from '#domain/workspace/tenants/platform-tenant.ts';
import { setUpPlatform } from '#domain/workspace/tenants/set-up-platform.ts';
import { secrets } from './world.ts';

const origin = { via: 'cli', requestId: null } as const;

export interface Operator {
  principalId: string;
  apiKey: string;
}

/** An operator of the platform; `keyPermissions` limits its key. */
export function addOperator(
  unitOfWork: UnitOfWork,
  keyPermissions: Permission[] | null = null,
): Promise<Operator> {
  return unitOfWork.inTenant(platformTenantId, async (em) => {
    const { principalId, token } = await setUpPlatform(em, secrets, origin);
    if (keyPermissions === null) {
      return { principalId, apiKey: token };
    }
    const actor: Actor = {
      tenantId: platformTenantId,
      principalId,
      principalType: 'service_account',
      origin,
    };
    const key = await createApiKey(
      { em, secrets, actor },
      { principalId, name: 'test', permissions: keyPermissions },
    );
    return { principalId, apiKey: key.token };
  });
}
