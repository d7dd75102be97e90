import type { EntityManager } from '@mikro-orm/postgresql';
import type { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import type { Chunk } from './document-extractor.ts';

export interface NewPassages {
  documentId: string;
  /** Of the document, whose passages no search uses before the document has this generation. */
  generation: number;
  chunks: readonly Chunk[];
}

/** Passages of one statement: about a second, and two megabytes. */
const slice = 2_000;

/** Inserts the passages of documents of one collection. */
export async function insertPassages(
  em: EntityManager,
  { tenantId, id, textSearchConfig }: Pick<Collection, 'tenantId' | 'id' | 'textSearchConfig'>,
  documents: readonly NewPassages[],
): Promise<void> {
  const rows = documents.flatMap(({ documentId, generation, chunks }) =>
    chunks.map((chunk, position) => ({ document_id: documentId, generation, position, ...chunk })),
  );
  for (let from = 0; from < rows.length; from += slice) {
    await em.execute(
      `insert into chunks (tenant_id, document_id, generation, position, collection_id, heading, text, start_offset, end_offset, page, anchor, config)
     select ?, document_id, generation, position, ?, heading, text, start, "end", page, anchor, ?::regconfig
     from jsonb_to_recordset(?::jsonb) as r(document_id uuid, generation integer, position integer, heading text,
       text text, start integer, "end" integer, page integer, anchor text)`,
      [tenantId, id, textSearchConfig, JSON.stringify(rows.slice(from, from + slice))],
    );
  }
}
