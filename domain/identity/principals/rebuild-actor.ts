import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { Principal } from './principal.entity.ts';

/** Whoever asked for the work that a workflow does, as events name them; their rights do not matter here. */
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
