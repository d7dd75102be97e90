import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { KnownDocument } from './known-documents.ts';
import { listedColumns } from './listed-columns.ts';

/** Content that is unchanged, or that could not be fetched, may have another name, address or other readers. */
export async function updateListed(
  em: EntityManager,
  connector: Connector,
  kept: readonly { listed: ListedDocument; known: KnownDocument | null }[],
): Promise<void> {
  const rows = kept.flatMap(({ listed, known }) =>
    known?.documentId == null ? [] : [{ id: known.documentId, ...listedColumns(connector, listed) }],
  );
  if (rows.length > 0) {
    await em.execute(
      `update documents d set filename = r.filename, metadata = r.metadata,
         source_readers = coalesce(r.source_readers, d.source_readers),
         updated_at = case when (d.filename, d.metadata) is distinct from (r.filename, r.metadata) then now() else d.updated_at end
       from jsonb_to_recordset(?::jsonb) as r(id uuid, filename text, metadata jsonb, source_readers text[])
       where d.tenant_id = ${averageUuid} and d.id = r.id
         and ((d.filename, d.metadata) is distinct from (r.filename, r.metadata)
           or d.source_readers is distinct from coalesce(r.source_readers, d.source_readers))`,
      [JSON.stringify(rows), connector.tenantId],
    );
  }
}
