import type { EntityManager } from '@mikro-orm/postgresql';
import { forgetDocuments } from './forget-documents.ts';
import type { MissingDocument } from './missing-documents.ts';
import { lockRunning } from './running-run.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';

/** Deletes documents that are gone at the source, or cannot be read there: no later search finds them. @throws RunEnded */
export async function deleteMissing(
  em: EntityManager,
  runId: string,
  documents: readonly MissingDocument[],
): Promise<SyncRun> {
  const { connector, run } = await lockRunning(em, runId);
  const { tenantId } = connector;
  run.deleted += await forgetDocuments(
    em,
    tenantId,
    documents.flatMap(({ documentId }) => documentId ?? []),
  );
  const idsOf = (isUnreadable: boolean) =>
    JSON.stringify(documents.filter((each) => each.isUnreadable === isUnreadable).map(({ id }) => id));
  const given = `tenant_id = ? and id in (select jsonb_array_elements_text(?::jsonb)::uuid)`;
  await em.execute(`delete from source_documents where ${given}`, [tenantId, idsOf(false)]);
  await em.execute(`update source_documents set is_gone = false where ${given}`, [tenantId, idsOf(true)]);
  run.updatedAt = new Date();
  await em.flush();
  return run;
}
