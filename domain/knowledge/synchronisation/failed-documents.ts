import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { isRepeatable, maxRepeated } from '#domain/knowledge/connectors/sync-status.ts';
import type { RunningRun } from './running-run.ts';

/** The next run fetches it once more; after further failures the pause doubles, from ten minutes to 21 hours. */
const firstPauseMinutes = 5;
const maxDoublings = 8;

/**
 * Documents that failed in an earlier run and that the listing of this run has not brought: those that were tried the
 * longest time ago first. A run that a person asks for waits for no pause.
 */
export async function failedDocuments(
  em: EntityManager,
  { connector, run }: RunningRun,
): Promise<ListedDocument[]> {
  const rows = await em.execute<Pick<ListedDocument, 'ref' | 'name' | 'url' | 'byteSize'>[]>(
    `select ref, name, url, byte_size::float8 as "byteSize" from source_documents
     where tenant_id = ${averageUuid} and connector_id = ${averageUuid} and state = 'failed' and ${isRepeatable}
       and listing < ? and not is_gone
       and (? or failures <= 1 or updated_at <= now()
         - make_interval(mins => ${firstPauseMinutes} * (2 ^ least(failures - 1, ${maxDoublings}))::int))
     order by updated_at, ref limit ${maxRepeated}`,
    [connector.tenantId, connector.id, run.listing, run.trigger === 'manual'],
  );
  return rows.map((row) => ({ ...row, version: null, mediaType: null }));
}
