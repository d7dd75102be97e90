import type { EntityManager } from '@mikro-orm/postgresql';
import { averageTenant } from '#domain/foundation/persistence/average-uuid.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { readableOf, type SourceReading } from '#domain/knowledge/collections/source-reading.ts';
import type { FusedHit } from './fuse-hits.ts';
import type { PlacedPassage } from './passage.ts';

interface PassageRow {
  filename: string;
  collection_id: string;
  media_type: DocumentMediaType;
  text: string;
  heading: string | null;
  page: number | null;
  anchor: string | null;
  start_offset: number;
  end_offset: number;
  metadata: Record<string, string>;
}

/**
 * The passages of hits, in their order. Those that were deleted meanwhile, or may no longer be read, are left out.
 * Replaced ones are there until the purge, so that a search finds the old passages or the new ones, and never none.
 */
export async function readPassages(
  em: EntityManager,
  hits: readonly FusedHit[],
  reading: SourceReading | null,
): Promise<PlacedPassage[]> {
  if (hits.length === 0) {
    return [];
  }
  const wanted = hits.map(({ documentId, position, generation = null }) => ({
    document_id: documentId,
    position,
    generation,
  }));
  const readable = readableOf('d', reading);
  const rows = await em.execute<(PassageRow & { n: number })[]>(
    `select w.n::int4 as n, d.filename, d.media_type, d.metadata, c.collection_id, c.text, c.heading, c.page, c.anchor,
            c.start_offset, c.end_offset
     from rows from (jsonb_to_recordset(?::jsonb) as (document_id uuid, position integer, generation integer))
       with ordinality as w(document_id, position, generation, n)
     join documents d on d.tenant_id = ${averageTenant} and d.id = w.document_id
     join chunks c on c.tenant_id = d.tenant_id and c.document_id = d.id
       and c.generation = coalesce(w.generation, d.generation) and c.position = w.position
     where ${readable.sql}
     order by w.n`,
    [JSON.stringify(wanted), ...readable.params],
  );
  return rows.flatMap((row) => {
    const hit = hits[row.n - 1];
    return hit === undefined ? [] : [present(row, hit)];
  });
}

function present(row: PassageRow, hit: FusedHit): PlacedPassage {
  return {
    position: hit.position,
    documentId: hit.documentId,
    filename: row.filename,
    collectionId: row.collection_id,
    mediaType: row.media_type,
    text: row.text,
    heading: row.heading,
    page: row.page,
    anchor: row.anchor,
    score: hit.score,
    searchScore: hit.score,
    rerankScore: null,
    keywordScore: hit.keywordScore,
    vectorScore: hit.vectorScore,
    coverage: hit.coverage,
    start: row.start_offset,
    end: row.end_offset,
    attributes: row.metadata,
  };
}
