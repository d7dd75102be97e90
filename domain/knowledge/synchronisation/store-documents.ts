import type { EntityManager } from '@mikro-orm/postgresql';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { partBytes } from '#domain/foundation/bytes/parts.ts';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import type { Chunk } from '#domain/knowledge/ingestion/document-extractor.ts';
import { insertPassages } from '#domain/knowledge/ingestion/insert-passages.ts';
import { replaceVectors } from '#domain/knowledge/ingestion/replace-vectors.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import type { KnownDocument } from './known-documents.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { listedColumns } from './listed-columns.ts';

/** The content of a document with its passages. */
export interface ReadContent {
  content: Uint8Array;
  /** SHA-256 in hex. */
  contentHash: string;
  mediaType: DocumentMediaType;
  chunks: readonly Chunk[];
}

interface Stored {
  listed: ListedDocument;
  known: KnownDocument | null;
  read: ReadContent;
}

/**
 * Stores documents of a source as `ready`, with their passages: from the commit on, searches find these by keyword, and
 * no longer those that they replace. The workflow of the space embeds what is new of them.
 * @returns the document of each reference
 */
export async function storeDocuments(
  em: EntityManager,
  connector: Connector,
  stored: readonly Stored[],
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  if (stored.length === 0) {
    return ids;
  }
  await planForGrownTables(em);
  const keys = await storeContents(em, connector, stored);
  const rows = stored.map((each) => {
    const id = each.known?.documentId ?? newId();
    ids.set(each.listed.ref, id);
    return rowOf(connector, each, { id, key: keys.get(each.read.contentHash) ?? '' });
  });
  const isKnown = new Set(stored.flatMap(({ known }) => known?.documentId ?? []));
  await insertDocuments(
    em,
    connector,
    rows.filter(({ id }) => !isKnown.has(id)),
  );
  const replaced = await replaceDocuments(
    em,
    connector,
    rows.filter(({ id }) => isKnown.has(id)),
  );
  const passages = stored.map(({ listed, read: { chunks } }) => {
    const documentId = ids.get(listed.ref) ?? '';
    return { documentId, generation: replaced.get(documentId) ?? firstGeneration, chunks };
  });
  await insertPassages(em, await em.findOneOrFail(Collection, { id: connector.collectionId }), passages);
  if (replaced.size > 0) {
    await replaceVectors(em, connector.tenantId, [...replaced.keys()]);
  }
  return ids;
}

/**
 * A session keeps the plans by which foreign keys are checked. In a plan of empty tables an index that begins with the
 * tenant costs no more than the primary key, and each check then reads all the tenant's entries of that index. So does
 * a plan for a tenant that the statistics have not seen, such as the first five that a session makes of each check.
 */
async function planForGrownTables(em: EntityManager): Promise<void> {
  await em.execute('discard plans; set local plan_cache_mode = force_generic_plan');
}

/** @returns the key of each content, by its hash */
async function storeContents(
  em: EntityManager,
  { tenantId }: Connector,
  stored: readonly Stored[],
): Promise<Map<string, string>> {
  const store = PostgresByteStore.within(tenantId, em);
  const contents = new Map(stored.map(({ read }) => [read.contentHash, read.content]));
  const isSmall = ([, content]: [string, Uint8Array]) => content.byteLength <= partBytes;
  const keys = await store.putAll(new Map([...contents].filter(isSmall)), 'documents');
  for (const [hash, content] of [...contents]
    .filter((each) => !isSmall(each))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { key } = await store.put([content], { purpose: 'documents', maxBytes: content.byteLength });
    keys.set(hash, key);
  }
  return keys;
}

/** Of a new document's passages. */
const firstGeneration = 1;

type Row = ReturnType<typeof rowOf>;

const recordset = `jsonb_to_recordset(?::jsonb) as r(id uuid, filename text, media_type text, content_key text,
  content_hash text, byte_size integer, chunk_count integer, metadata jsonb, source_readers text[])`;

function rowOf(connector: Connector, { listed, read }: Stored, { id, key }: { id: string; key: string }) {
  return {
    id,
    ...listedColumns(connector, listed),
    media_type: read.mediaType,
    content_key: key,
    content_hash: read.contentHash,
    byte_size: read.content.byteLength,
    chunk_count: read.chunks.length,
  };
}

async function insertDocuments(em: EntityManager, connector: Connector, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) {
    return;
  }
  await em.execute(
    `insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_key, content_hash,
       byte_size, chunk_count, generation, embedding_pending, metadata, source_readers, created_by)
     select ?, r.id, ?, r.filename, r.media_type, 'ready', r.content_key, r.content_hash, r.byte_size, r.chunk_count, ${firstGeneration},
       true, r.metadata, r.source_readers, ? from ${recordset}`,
    [connector.tenantId, connector.collectionId, connector.principalId, JSON.stringify(rows)],
  );
}

/** @returns the generation of each */
async function replaceDocuments(
  em: EntityManager,
  connector: Connector,
  rows: readonly Row[],
): Promise<Map<string, number>> {
  if (rows.length === 0) {
    return new Map();
  }
  const { tenantId } = connector;
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const given = '(select jsonb_array_elements_text(?::jsonb)::uuid)';
  await em.execute(
    `select 1 from documents where tenant_id = ${averageUuid} and id in ${given} order by id for update`,
    [tenantId, ids],
  );
  // An interrupted reading may have left passages of the next generation.
  await em.execute(
    `delete from chunks c using documents d where d.tenant_id = ${averageUuid} and d.id in ${given}
       and c.tenant_id = d.tenant_id and c.document_id = d.id and c.generation > d.generation`,
    [tenantId, ids],
  );
  await em.execute(
    `update stored_objects o set purge_after = greatest(o.purge_after, now())
     where o.tenant_id = ${averageUuid}
       and o.key in (select d.content_key from documents d where d.tenant_id = ${averageUuid} and d.id in ${given})`,
    [tenantId, tenantId, ids],
  );
  const replaced = await em.execute<{ id: string; generation: number }[]>(
    `update documents d set filename = r.filename, media_type = r.media_type, content_key = r.content_key,
       content_hash = r.content_hash, byte_size = r.byte_size, chunk_count = r.chunk_count, metadata = r.metadata,
       source_readers = coalesce(r.source_readers, d.source_readers), status = 'ready', failure_code = null, generation = d.generation + 1,
       stale_since = now(), ingested_by = null, embedded_count = 0, embedding_pending = true, embedding_error = null,
       updated_at = now()
     from ${recordset} where d.tenant_id = ${averageUuid} and d.id = r.id returning d.id, d.generation`,
    [JSON.stringify(rows), tenantId],
  );
  return new Map(replaced.map(({ id, generation }) => [id, generation]));
}
