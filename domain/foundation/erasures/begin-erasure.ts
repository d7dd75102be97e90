import type { Context } from '#domain/foundation/access/context.ts';
import { start } from '#domain/foundation/durable/messages.ts';
import type { RootType } from '#domain/foundation/durable/workflow-inputs.ts';
import { Erasure } from './erasure.entity.ts';
import { rootTables } from './root-tables.ts';

/**
 * Puts a root that the caller has locked out of sight, and has its rows erased after the commit. The mark has the
 * database's full precision: policies compare it with the time of the transaction.
 */
export async function beginErasure(ctx: Context, rootType: RootType, rootId: string): Promise<void> {
  const { tenantId } = ctx.caller;
  await ctx.em.execute(
    `update ${rootTables[rootType]} set deleted_at = now() where tenant_id = ? and id = ?`,
    [tenantId, rootId],
  );
  await ctx.em.persist(ctx.em.create(Erasure, { tenantId, rootType, rootId })).flush();
  await ctx.enqueue(start('eraseScope', { tenantId, rootType, rootId }));
}
