import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import type { SourceDocumentState } from '#domain/knowledge/connectors/sync-status.ts';

/** What is stored of a document of the source. */
export interface KnownDocument {
  id: string;
  ref: string;
  documentId: string | null;
  name: string;
  url: string | null;
  byteSize: number | null;
  version: string | null;
  contentHash: string | null;
  state: SourceDocumentState;
  listing: number;
  /** The source says that it is deleted; it leaves the collection with the deletions. */
  isGone: boolean;
}

/** What it has become cannot be read, and the guard holds back that it leaves the collection. */
export function isHeld({ state, documentId }: KnownDocument): boolean {
  return state === 'skipped' && documentId !== null;
}

/** The known ones among the references of a page. */
export async function knownDocuments(
  em: EntityManager,
  connector: { tenantId: string; id: string },
  refs: readonly string[],
): Promise<Map<string, KnownDocument>> {
  const rows = await em.execute<KnownDocument[]>(
    `select id, ref, document_id as "documentId", name, url, byte_size::float8 as "byteSize", version,
       content_hash as "contentHash", state, listing, is_gone as "isGone"
     from source_documents where tenant_id = ${averageUuid} and connector_id = ${averageUuid}
       and ref in (select jsonb_array_elements_text(?::jsonb))`,
    [connector.tenantId, connector.id, JSON.stringify(refs)],
  );
  return new Map(rows.map((row) => [row.ref, row]));
}
