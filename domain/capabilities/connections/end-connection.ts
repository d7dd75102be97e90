import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { connectionEvent } from './attempt-event.ts';
import type { ConnectionParts } from './connection-parts.ts';
import { Connection } from './connection.entity.ts';

/**
 * Ends a connection that its authorization server no longer honours, once, with its event.
 * @param nonce of the caller's refresh: a refresher that was overtaken ends nothing; null: without a refresh
 */
export async function endConnection(
  { unitOfWork }: Pick<ConnectionParts, 'unitOfWork'>,
  {
    tenantId,
    id,
    generation,
    nonce,
  }: { tenantId: string; id: string; generation: number; nonce: string | null },
  status: 'auth_expired' | 'client_rejected',
): Promise<null> {
  await unitOfWork.inTenant(tenantId, async (em) => {
    const ended = await em.nativeUpdate(
      Connection,
      { id, generation, leaseNonce: nonce, withdrawnAt: null },
      {
        status,
        tokens: null,
        generation: generation + 1,
        leaseNonce: null,
        leaseUntil: null,
        updatedAt: new Date(),
      },
    );
    const connection = ended === 0 ? null : await em.findOne(Connection, { id });
    if (connection === null) {
      return;
    }
    const { connectedBy: principalId } = connection;
    const actor = await rebuildActor(em, { tenantId, principalId });
    await recordEvent(em, actor, connectionEvent('security.mcp_auth_failed', connection, status));
  });
  return null;
}
