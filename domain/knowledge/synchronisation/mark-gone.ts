import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { PageEnd } from './page-end.ts';
import type { RunningRun } from './running-run.ts';

/** Marks what a page says to be gone: it leaves the collection with the deletions. */
export async function markGone(
  em: EntityManager,
  { connector: { tenantId, id }, run: { listing } }: RunningRun,
  { gone, goneWithParts, supersedes }: PageEnd,
): Promise<void> {
  if (gone.length === 0) {
    return;
  }
  const places = [tenantId, id, listing, supersedes, JSON.stringify(gone)];
  const isOlder = `tenant_id = ${averageUuid} and connector_id = ${averageUuid} and (listing < ? or ?)`;
  const isNamed = 'in (select jsonb_array_elements_text(?::jsonb))';
  await em.execute(`update source_documents set is_gone = true where ${isOlder} and ref ${isNamed}`, places);
  if (goneWithParts) {
    await em.execute(
      `update source_documents set is_gone = true
       where ${isOlder} and left(ref, -strpos(reverse(ref), '/')) ${isNamed}`,
      places,
    );
  }
}
