import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { forgetDocuments } from './forget-documents.ts';
import { expectWithin } from '#domain/knowledge/connectors/expect-within.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { finishRun } from '#domain/knowledge/connectors/finish-run.ts';

/** Documents of one transaction. */
const batchSize = 200;

/**
 * Deletes the next documents of a connector that is being deleted, then the connector with its runs.
 * @returns whether it is gone
 */
export async function purgeConnector(em: EntityManager, connectorId: string): Promise<boolean> {
  const known = await em.findOne(Connector, { id: connectorId });
  if (known === null || !(await shareCollection(em, known.collectionId))) {
    return true;
  }
  const connector = await em.findOne(
    Connector,
    { id: connectorId },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (connector?.status !== 'deleting') {
    return true;
  }
  const { tenantId } = connector;
  const running = await em.findOne(SyncRun, { connectorId, status: 'running' });
  if (running !== null) {
    await finishRun(em, connector, running, { status: 'cancelled' });
  }
  const rows = await em.execute<{ id: string; documentId: string | null }[]>(
    `select id, document_id as "documentId" from source_documents where tenant_id = ? and connector_id = ? limit ${batchSize}`,
    [tenantId, connectorId],
  );
  if (rows.length === 0) {
    await em.remove(connector).flush();
    return true;
  }
  if (!connector.retainDocuments) {
    await forgetDocuments(
      em,
      tenantId,
      rows.flatMap(({ documentId }) => documentId ?? []),
    );
  }
  await em.execute(
    `delete from source_documents where tenant_id = ? and id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [tenantId, JSON.stringify(rows.map(({ id }) => id))],
  );
  await expectWithin(em, connector, 300);
  return false;
}
