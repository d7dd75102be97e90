import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { ApiKey } from './api-key.entity.ts';
import { mintApiKey } from './api-key.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';

const lifetimeDays = 90;

export interface NewApiKey {
  principalId: string;
  name: string;
  /** null: all permissions of the principal. */
  permissions: Permission[] | null;
}

interface KeyToMake extends NewApiKey {
  id?: string;
  /** Other principals that may know the key. */
  makers?: string[];
}

/** @returns the token, which is shown once and stored nowhere. */
export async function createApiKey(
  work: { em: EntityManager; secrets: Secrets; actor: Actor },
  input: KeyToMake,
): Promise<{ id: string; keyId: string; token: string }> {
  const { em, secrets, actor } = work;
  const minted = mintApiKey(secrets);
  const id = input.id ?? newId();
  em.create(ApiKey, {
    tenantId: actor.tenantId,
    id,
    keyId: minted.keyId,
    secretHash: minted.secretHash,
    principalId: input.principalId,
    name: input.name,
    permissions: input.permissions,
    makers: input.makers ?? [],
    expiresAt: new Date(Date.now() + lifetimeDays * 86_400_000),
  });
  await recordEvent(em, actor, {
    type: 'security.api_key_created',
    resource: { type: 'api_key', id },
    metadata: { principal_id: input.principalId, name: input.name },
  });
  return { id, keyId: minted.keyId, token: minted.token };
}
