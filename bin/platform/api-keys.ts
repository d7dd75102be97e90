import { createApiKey } from '#domain/access/create-api-key.ts';
import { permissions, type Permission } from '#domain/access/permissions.ts';
import { revokeApiKey } from '#domain/access/revoke-api-key.ts';
import type { Actor } from '#domain/events/record-event.ts';
import { Principal } from '#domain/principals/principal.entity.ts';
import { print, withSession } from './session.ts';

interface CreateOptions {
  tenant: string;
  principal: string;
  name: string;
  permission?: string[];
  json?: boolean;
}

export async function createKey(options: CreateOptions): Promise<void> {
  const granted = options.permission?.map(toPermission) ?? null;
  await withSession(async ({ unitOfWork, secrets }) => {
    const key = await unitOfWork.inTenant(options.tenant, async (em) => {
      const principal = await em.findOneOrFail(Principal, { id: options.principal });
      const actor = operator(options.tenant, principal);
      return createApiKey(
        { em, secrets, actor },
        { principalId: principal.id, name: options.name, permissions: granted },
      );
    });
    print({ id: key.id, api_key: key.token }, options.json);
  });
}

export async function revokeKey(
  keyId: string,
  options: { tenant: string; principal: string },
): Promise<void> {
  await withSession(async ({ unitOfWork }) => {
    const revoked = await unitOfWork.inTenant(options.tenant, async (em) => {
      const principal = await em.findOneOrFail(Principal, { id: options.principal });
      return revokeApiKey(em, operator(options.tenant, principal), keyId);
    });
    console.log(revoked ? 'revoked' : 'there is no such key, or it was revoked before');
  });
}

function operator(tenantId: string, principal: Principal): Actor {
  return {
    tenantId,
    principalId: principal.id,
    principalType: principal.type,
    origin: { via: 'cli', requestId: null },
  };
}

function toPermission(name: string): Permission {
  const found = permissions.find((permission) => permission === name);
  if (found === undefined) {
    throw new Error(`There is no permission ${name}.`);
  }
  return found;
}
