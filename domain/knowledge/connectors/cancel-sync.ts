import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signal } from '#domain/foundation/durable/messages.ts';
import { finishRun } from './finish-run.ts';
import { lockConnector } from './find-connector.ts';
import { findRun, shownRun, type RunRef } from './find-run.ts';
import type { SyncRun } from './sync-run.entity.ts';
import { isFinished } from './sync-status.ts';

/**
 * Cancels a run: a queued one at once, a running one at its next batch. What it has stored stays. A finished run stays
 * as it is.
 * @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `sync_run_not_found`
 */
export async function cancelSync(ctx: Context, ref: RunRef): Promise<SyncRun> {
  authorize(ctx.caller, 'connectors.sync');
  const connector = await lockConnector(ctx, ref);
  const run = await findRun(ctx, connector, ref.runId, LockMode.PESSIMISTIC_WRITE);
  if (run.status === 'queued') {
    await finishRun(ctx.em, connector, run, { status: 'cancelled', by: ctx.caller });
  } else if (!isFinished(run.status)) {
    run.cancelRequested = true;
    await ctx.em.flush();
    const ids = { tenantId: run.tenantId, connectorId: connector.id };
    await ctx.enqueue(signal('runConnector', ids, 'cancelRun', [run.id]));
  }
  return shownRun(ctx, ref, run);
}
