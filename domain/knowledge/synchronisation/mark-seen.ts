import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { Outcome } from './outcome.ts';
import type { RunningRun } from './running-run.ts';

export type Unchanged = Extract<Outcome, { is: 'unchanged' }>;

/** Whether the listing says nothing new of the document: most do. Readers are stored with the document, not here. */
export function saysNothingNew(outcome: Outcome): outcome is Unchanged {
  if (outcome.is !== 'unchanged' || outcome.listed.readers !== undefined) return false;
  const { listed, known, version } = outcome;
  return (
    version === known.version &&
    (known.documentId === null || known.state === 'stored') &&
    listed.name === known.name &&
    listed.url === known.url &&
    (listed.byteSize ?? known.byteSize) === known.byteSize
  );
}

/** Marks that they were seen in the run's listing. @returns how many another attempt had not marked */
export async function markSeen(
  em: EntityManager,
  { connector: { tenantId, id: connectorId }, run: { listing } }: RunningRun,
  seen: readonly Unchanged[],
): Promise<number> {
  if (seen.length === 0) return 0;
  const [marked] = await em.execute<{ rows: number }[]>(
    `with marked as (
       update source_documents set listing = ?, is_gone = false, updated_at = now()
       where tenant_id = ${averageUuid} and connector_id = ${averageUuid} and (listing < ? or is_gone)
         and id in (select jsonb_array_elements_text(?::jsonb)::uuid)
       returning 1)
     select count(*)::int as rows from marked`,
    [listing, tenantId, connectorId, listing, JSON.stringify(seen.map(({ known }) => known.id))],
  );
  return marked?.rows ?? 0;
}
