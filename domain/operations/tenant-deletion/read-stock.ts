import type { EntityManager } from '@mikro-orm/postgresql';
import type { Anchor } from '#domain/foundation/events/anchor.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';

const samplePerTable = 8;
export const sampledTables: readonly string[] = [
  'principals',
  'spaces',
  'documents',
  'threads',
  'connectors',
  'mcp_servers',
  'responses',
];

/**
 * What the certificate says of a tenant, read before its rows are erased.
 * @param anchor the end of its log where it was anchored; null: it was not
 */
export async function readStock(
  em: EntityManager,
  tenantId: string,
  anchor: Anchor | null,
): Promise<Pick<TenantDeletion, 'bytes' | 'eventChain' | 'sampledIds'>> {
  const [stored] = await em.execute<{ bytes: string }[]>(
    'select coalesce(sum(byte_size), 0) as bytes from stored_objects where tenant_id = ?',
    [tenantId],
  );
  const [chain] = await em.execute<{ last_hash: string; event_count: string }[]>(
    `select encode(head, 'hex') as last_hash, event_count from event_chains where tenant_id = ?`,
    [tenantId],
  );
  const unanchored =
    chain === undefined
      ? null
      : { last_hash: chain.last_hash, event_count: Number(chain.event_count), anchored_at: null };
  const sampledIds: string[] = [];
  for (const table of sampledTables) {
    const rows = await em.execute<{ id: string }[]>(
      `select id::text as id from ${table} where tenant_id = ? limit ?`,
      [tenantId, samplePerTable],
    );
    sampledIds.push(...rows.map(({ id }) => id));
  }
  return {
    bytes: { postgresql: Number(stored?.bytes ?? 0) },
    eventChain: anchor === null ? unanchored : endOf(anchor),
    sampledIds,
  };
}

const endOf = ({ head, event_count: count, at }: Anchor) => ({
  last_hash: head,
  event_count: count,
  anchored_at: at,
});
