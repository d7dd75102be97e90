import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { isRunnable } from './connector-status.ts';
import { lockConnector, type ConnectorRef } from './find-connector.ts';
import { findRun, shownRun } from './find-run.ts';
import { queueRun } from './queue-run.ts';
import type { SyncRun } from './sync-run.entity.ts';
import type { SyncMode } from './sync-status.ts';

export interface RequestSync extends ConnectorRef {
  mode: SyncMode;
  /** Applies deletions that the guard holds back. */
  confirmDeletions: boolean;
  idempotency: IdempotentRequest | null;
}

/**
 * Queues a run; while one is queued, that one is returned. `replayed` says that the key named an earlier request.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `invalid_state` for a connector that is
 *   paused, suspended or being deleted, and the refusals of `claimKey`
 */
export async function requestSync(
  ctx: Context,
  input: RequestSync,
): Promise<{ run: SyncRun; replayed: boolean }> {
  authorize(ctx.caller, 'connectors.sync');
  const connector = await lockConnector(ctx, input);
  if (input.idempotency !== null) {
    const id = newId();
    // The key names the request; a coalesced request has no run of its own, so the newest run answers a repeat.
    if ((await claimKey(ctx, input.idempotency, id)) !== id) {
      const newest = await findRun(ctx, connector, null);
      return { run: await shownRun(ctx, input, newest), replayed: true };
    }
  }
  if (!isRunnable(connector.status)) {
    throw new DomainError(
      'invalid_state',
      `The connector is ${connector.status}: it cannot be synchronised.`,
    );
  }
  const { tenantId, principalId } = ctx.caller;
  const run = await queueRun(ctx.em, connector, {
    trigger: 'manual',
    mode: input.mode,
    confirmDeletions: input.confirmDeletions,
    createdBy: principalId,
  });
  const ids = { tenantId, connectorId: connector.id };
  await ctx.enqueue(signalWithStart('runConnector', ids, 'syncRequested', [run.id]));
  return { run, replayed: false };
}
