import type { EntityManager } from '@mikro-orm/postgresql';
import { foldCase } from '#domain/identity/principals/fold-address.ts';
import { lockRunning } from './running-run.ts';
import { isStorable } from './storable-readers.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import type { SourceGroup } from '#domain/knowledge/connectors/source.ts';

/**
 * Saves members of groups of the source, as the run has seen them, and the place of the next page. Behind the last one
 * memberships are dropped that the run has not seen. @throws RunEnded
 */
export async function saveGroups(
  em: EntityManager,
  runId: string,
  groups: readonly SourceGroup[],
  next: string | null,
): Promise<SyncRun> {
  const { connector, run } = await lockRunning(em, runId);
  const rows = groups
    .filter(({ id }) => isStorable(id))
    .flatMap(({ id, members }) =>
      members.filter(isStorable).map((address) => ({ id, address: foldCase(address) })),
    );
  await em.execute(
    `insert into source_group_members (tenant_id, connector_id, group_id, address, listing)
     select distinct ?::uuid, ?::uuid, r.id, r.address, ?::int from jsonb_to_recordset(?::jsonb) as r(id text, address text)
     on conflict (tenant_id, connector_id, group_id, address) do update set listing = excluded.listing`,
    [connector.tenantId, connector.id, run.listing, JSON.stringify(rows)],
  );
  run.groupPosition = next;
  run.groupPages = next === null ? 0 : run.groupPages + 1;
  run.updatedAt = new Date();
  await em.flush();
  if (next === null) {
    await em.execute(
      'delete from source_group_members where tenant_id = ? and connector_id = ? and listing < ?',
      [connector.tenantId, connector.id, run.listing],
    );
  }
  return run;
}
