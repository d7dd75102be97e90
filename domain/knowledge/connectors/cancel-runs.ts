import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { signal } from '#domain/foundation/durable/messages.ts';
import type { Connector } from './connector.entity.ts';
import { finishRun } from './finish-run.ts';
import { SyncRun } from './sync-run.entity.ts';

/** Cancels the queued run of a locked connector, and asks the running one to end. */
export async function cancelRuns(ctx: Context, connector: Connector): Promise<void> {
  const where = { connectorId: connector.id, status: { $in: ['queued' as const, 'running' as const] } };
  for (const run of await ctx.em.find(SyncRun, where, { lockMode: LockMode.PESSIMISTIC_WRITE })) {
    if (run.status === 'queued') {
      await finishRun(ctx.em, connector, run, { status: 'cancelled', by: ctx.caller });
    } else {
      run.cancelRequested = true;
      const ids = { tenantId: run.tenantId, connectorId: connector.id };
      await ctx.enqueue(signal('runConnector', ids, 'cancelRun', [run.id]));
    }
  }
  await ctx.em.flush();
}
