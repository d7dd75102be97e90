import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { Principal } from './principal.entity.ts';

/** The requester of a workflow's work, as events name it; its permissions are not checked. */
export async function rebuildActor(
  em: EntityManager,
  requester: { tenantId: string; principalId: string },
): Promise<Actor> {
  const principal = await em.findOneOrFail(Principal, { id: requester.principalId });
  return {
    tenantId: requester.tenantId,
    principalId: principal.id,
    principalType: principal.type,
    origin: { via: 'workflow', requestId: null },
  };
}
