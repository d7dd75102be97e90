import type { EntityManager } from '@mikro-orm/postgresql';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { foldCase } from '#domain/identity/principals/fold-address.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import type { Chunk } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import type { KnownDocument } from './known-documents.ts';
import type { ListedDocument, SourceReaders } from '#domain/knowledge/connectors/source.ts';
import { sourceFilename } from './source-filename.ts';

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
 * no longer those that they replace. The workflow of the space embeds them.
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
  const store = PostgresByteStore.within(connector.tenantId, em);
  const rows: Row[] = [];
  // In the order of their hashes: the locks of equal contents are taken in the same order everywhere.
  for (const each of stored.toSorted((a, b) => (a.read.contentHash < b.read.contentHash ? -1 : 1))) {
    const { content } = each.read;
    const { key } = await store.put([content], { purpose: 'documents', maxBytes: content.byteLength });
    const id = each.known?.documentId ?? newId();
    ids.set(each.listed.ref, id);
    rows.push(rowOf(connector, each, { id, key }));
  }
  const isKnown = new Set(stored.flatMap(({ known }) => known?.documentId ?? []));
  await insertDocuments(
    em,
    connector,
    rows.filter(({ id }) => !isKnown.has(id)),
  );
  await replaceDocuments(
    em,
    connector,
    rows.filter(({ id }) => isKnown.has(id)),
  );
  await insertPassages(em, connector, stored, ids);
  return ids;
}

/** Deletes documents with their passages. */
export async function forgetDocuments(
  em: EntityManager,
  tenantId: string,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) {
    return 0;
  }
  const [row] = await em.execute<{ n: number }[]>(
    `with gone as (delete from documents where tenant_id = ?
       and id in (select jsonb_array_elements_text(?::jsonb)::uuid) returning 1)
     select count(*)::int as n from gone`,
    [tenantId, JSON.stringify(ids)],
  );
  return row?.n ?? 0;
}

type Row = ReturnType<typeof rowOf>;

const recordset = `jsonb_to_recordset(?::jsonb) as r(id uuid, filename text, media_type text, content_key text,
  content_hash text, byte_size integer, chunk_count integer, metadata jsonb, source_readers text[])`;

function rowOf(connector: Connector, { listed, read }: Stored, { id, key }: { id: string; key: string }) {
  return {
    id,
    filename: sourceFilename(listed.name),
    media_type: read.mediaType,
    content_key: key,
    content_hash: read.contentHash,
    byte_size: read.content.byteLength,
    chunk_count: read.chunks.length,
    metadata: { source: connector.providerSlug, ...(listed.url === null ? {} : { url: listed.url }) },
    source_readers: listed.readers === undefined ? null : readersOf(connector, listed.readers),
  };
}

/** Content that is unchanged, or that could not be fetched, may have other readers. */
export async function updateReaders(
  em: EntityManager,
  connector: Connector,
  kept: readonly { listed: ListedDocument; known: KnownDocument | null }[],
): Promise<void> {
  const rows = kept.flatMap(({ listed: { readers }, known }) =>
    readers === undefined || known?.documentId == null
      ? []
      : [{ id: known.documentId, source_readers: readersOf(connector, readers) }],
  );
  if (rows.length > 0) {
    await em.execute(
      `update documents d set source_readers = r.source_readers
       from jsonb_to_recordset(?::jsonb) as r(id uuid, source_readers text[])
       where d.tenant_id = ? and d.id = r.id and d.source_readers is distinct from r.source_readers`,
      [JSON.stringify(rows), connector.tenantId],
    );
  }
}

/** As `documents.source_readers` stores them. */
export function readersOf({ id }: Pick<Connector, 'id'>, readers: SourceReaders): string[] {
  return readers === 'public'
    ? ['public']
    : [
        ...readers.addresses.map((address) => `address:${foldCase(address)}`),
        ...readers.groups.map((group) => `group:${id}:${group}`),
      ];
}

async function insertDocuments(em: EntityManager, connector: Connector, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) {
    return;
  }
  await em.execute(
    `insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_key, content_hash,
       byte_size, chunk_count, generation, embedding_pending, metadata, source_readers, created_by)
     select ?, r.id, ?, r.filename, r.media_type, 'ready', r.content_key, r.content_hash, r.byte_size, r.chunk_count, 1,
       true, r.metadata, r.source_readers, ? from ${recordset}`,
    [connector.tenantId, connector.collectionId, connector.principalId, JSON.stringify(rows)],
  );
}

async function replaceDocuments(
  em: EntityManager,
  connector: Connector,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) {
    return;
  }
  const { tenantId } = connector;
  const ids = JSON.stringify(rows.map(({ id }) => id));
  const given = '(select jsonb_array_elements_text(?::jsonb)::uuid)';
  await em.execute(`select 1 from documents where tenant_id = ? and id in ${given} order by id for update`, [
    tenantId,
    ids,
  ]);
  // An interrupted reading may have left passages of the next generation.
  await em.execute(
    `delete from chunks c using documents d where d.tenant_id = ? and d.id in ${given}
       and c.tenant_id = d.tenant_id and c.document_id = d.id and c.generation > d.generation`,
    [tenantId, ids],
  );
  await em.execute(
    `update stored_objects o set purge_after = greatest(o.purge_after, now())
     where o.tenant_id = ? and o.key in (select d.content_key from documents d where d.tenant_id = ? and d.id in ${given})`,
    [tenantId, tenantId, ids],
  );
  await em.execute(
    `update documents d set filename = r.filename, media_type = r.media_type, content_key = r.content_key,
       content_hash = r.content_hash, byte_size = r.byte_size, chunk_count = r.chunk_count, metadata = r.metadata,
       source_readers = r.source_readers, status = 'ready', failure_code = null, generation = d.generation + 1,
       stale_since = now(), ingested_by = null, embedded_count = 0, embedding_pending = true, embedding_error = null,
       updated_at = now()
     from ${recordset} where d.tenant_id = ? and d.id = r.id`,
    [JSON.stringify(rows), tenantId],
  );
  await em.execute(`delete from chunk_vectors where tenant_id = ? and document_id in ${given}`, [
    tenantId,
    ids,
  ]);
}

async function insertPassages(
  em: EntityManager,
  connector: Connector,
  stored: readonly Stored[],
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const { textSearchConfig } = await em.findOneOrFail(Collection, { id: connector.collectionId });
  const rows = stored.flatMap(({ listed, read }) =>
    read.chunks.map((chunk, position) => ({ document_id: ids.get(listed.ref), position, ...chunk })),
  );
  await em.execute(
    `insert into chunks (tenant_id, document_id, generation, position, collection_id, heading, text, start_offset,
       end_offset, page, anchor, config)
     select d.tenant_id, d.id, d.generation, r.position, d.collection_id, r.heading, r.text, r.start, r."end", r.page,
       r.anchor, ?::regconfig
     from jsonb_to_recordset(?::jsonb) as r(document_id uuid, position integer, heading text, text text, start integer,
       "end" integer, page integer, anchor text)
     join documents d on d.tenant_id = ? and d.id = r.document_id`,
    [textSearchConfig, JSON.stringify(rows), connector.tenantId],
  );
}
