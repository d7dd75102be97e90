import type { EntityManager } from '@mikro-orm/postgresql';
import { Erasure } from '#domain/foundation/erasures/erasure.entity.ts';
import { rootTables } from '#domain/foundation/erasures/root-tables.ts';
import type { EraseScopeInput } from '#domain/foundation/durable/workflow-inputs.ts';
import type { EventType } from '#domain/foundation/events/catalogue.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { readCatalogue } from '#domain/operations/erasure/read-catalogue.ts';
import { Eraser, Paused } from './erase-below.ts';
import { planScope } from './plan-scope.ts';

const eventTypes = {
  collection: 'collection.erased',
  space: 'space.erased',
  project: 'space.project_erased',
  principal: 'security.principal_erased',
} as const satisfies Record<EraseScopeInput['rootType'], EventType>;

export interface ScopePass {
  /** Asked before each batch. */
  mayGoOn: () => boolean;
  /** Called after each batch, with its rows. */
  erased: (table: string, rows: number) => void;
}

/**
 * Erases a deleted root with everything that belongs to it, batch by batch, and ends with the record of it. Of a
 * principal the row stays. A root that is not deleted, or is gone, is left alone.
 * @returns whether nothing is left
 */
export async function eraseScope(
  purge: UnitOfWork,
  scope: EraseScopeInput,
  { mayGoOn, erased }: ScopePass,
): Promise<boolean> {
  const { tenantId, rootType, rootId } = scope;
  const catalogue = await purge.inTenant(tenantId, async (em) =>
    (await isOpen(em, scope)) ? readCatalogue(em) : null,
  );
  if (catalogue === null) return true;
  const plan = planScope(catalogue, rootTables[rootType]);
  const also = async (em: EntityManager, table: string, rows: number) => {
    if (rows > 0) await note(em, scope, table, rows);
    erased(table, rows);
  };
  try {
    const eraser = new Eraser({ purge, tenantId, plan, mayGoOn, also });
    const root = { table: plan.root, keys: [[tenantId, rootId]], depth: 0 };
    // What a person leaves to others goes on naming the id.
    await (rootType === 'principal' ? eraser.eraseBelow(root) : eraser.eraseRows(root));
  } catch (error) {
    if (error instanceof Paused) return false;
    throw error;
  }
  await purge.inTenant(tenantId, (em) => end(em, scope));
  return true;
}

async function isOpen(em: EntityManager, { tenantId, rootType, rootId }: EraseScopeInput): Promise<boolean> {
  const rows = await em.execute(
    `select from erasures where tenant_id = ? and root_type = ? and root_id = ? and ended_at is null
       and not exists (select from ${rootTables[rootType]} r where r.tenant_id = ? and r.id = ? and r.deleted_at is null)`,
    [tenantId, rootType, rootId, tenantId, rootId],
  );
  return rows.length > 0;
}

/** In the transaction of the batch: the record counts what was committed, once. */
async function note(em: EntityManager, scope: EraseScopeInput, table: string, rows: number): Promise<void> {
  await em.execute(
    `update erasures set erased = erased || jsonb_build_object(?::text, coalesce((erased ->> ?)::bigint, 0) + ?)
     where tenant_id = ? and root_type = ? and root_id = ?`,
    [table, table, rows, scope.tenantId, scope.rootType, scope.rootId],
  );
}

async function end(em: EntityManager, { tenantId, rootType, rootId }: EraseScopeInput): Promise<void> {
  const erasure = await em.findOneOrFail(Erasure, { rootType, rootId });
  if (erasure.endedAt != null) return;
  erasure.endedAt = new Date();
  await em.flush();
  const counts = Object.entries(erasure.erased);
  await recordEvent(
    em,
    { tenantId, principalId: null, principalType: 'anonymous', origin: { via: 'workflow', requestId: null } },
    {
      type: eventTypes[rootType],
      resource: { type: rootType, id: rootId },
      metadata: { rows: counts.reduce((sum, [, rows]) => sum + rows, 0), ...erasure.erased },
      dedupeKey: `erased/${rootType}/${rootId}`,
    },
  );
}
