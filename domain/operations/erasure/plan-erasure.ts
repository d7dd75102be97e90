import type { EntityManager } from '@mikro-orm/postgresql';
import type { ErasureStep } from './erasure-step.ts';
import { orderTables } from './order-tables.ts';
import { readCatalogue } from './read-catalogue.ts';

/**
 * The steps that erase everything of a tenant, and last the tenant itself, in their order, from the database's own
 * catalogue. Partitions of one tenant are emptied first, then the foreign keys of cycles are cleared, then rows are
 * deleted, referring ones first.
 */
export async function planErasure(em: EntityManager): Promise<ErasureStep[]> {
  const catalogue = await readCatalogue(em);
  const { tables, unlinked, selfReferring } = orderTables(catalogue);
  const keys = new Map(catalogue.tables.map(({ name, key }) => [name, key]));
  const keyOf = (table: string) => keys.get(table) ?? [];
  const truncations = catalogue.tables.flatMap(({ name, partitions }) =>
    partitions.map((table) => ({
      kind: 'truncate' as const,
      table,
      countedAs: name,
      key: [],
      clears: [],
      selfReferences: [],
    })),
  );
  const unlinks = unlinked.map(({ child, nullable }) => ({
    kind: 'unlink' as const,
    table: child,
    countedAs: child,
    key: keyOf(child),
    clears: nullable,
    selfReferences: [],
  }));
  const deletions = tables.map((table) => ({
    kind: 'delete' as const,
    table,
    countedAs: table,
    key: keyOf(table),
    clears: [],
    selfReferences: selfReferring.filter(({ child }) => child === table).map(({ pairs }) => pairs),
  }));
  return [...truncations, ...unlinks, ...deletions].map((step) => ({ name: nameOf(step), ...step }));
}

function nameOf({ kind, table, clears }: Omit<ErasureStep, 'name'>): string {
  return [kind, table, ...clears].join(' ');
}
