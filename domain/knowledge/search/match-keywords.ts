import type { EntityManager } from '@mikro-orm/postgresql';
import { textArray, type SourceReading } from '#domain/knowledge/collections/source-reading.ts';
import { documentsMatching, type DocumentFilter } from './document-filter.ts';
import type { KeywordHit } from './fuse-hits.ts';

interface MatchRow {
  document_id: string;
  generation: number;
  position: number;
  score: number;
  coverage: number;
}

export interface KeywordQuery {
  tenantId: string;
  /** Collections that share a text-search configuration. */
  collectionIds: string[];
  config: string;
  question: string;
  /** Number of passages in these collections; maintained on write, never counted by a search. */
  passages: number;
  filter: DocumentFilter;
  /** What the caller may read at the sources; null: no collection enforces that. */
  reading: SourceReading | null;
  limit: number;
}

/** Max passages that are ranked, as estimated before the search; the rarest word's passages always are. */
const maxCandidates = 3_000;
/** Max different words of a question that are looked for: its rarest. */
const maxLexemes = 32;

/**
 * BM25 over the passages with any of the question's rarest words: no passage contains all words of a differently
 * worded question, and passages that share only frequent words with it are too many to rank. A word weighs more the
 * fewer passages contain it; one without any passage has the average weight of the others, so that it lowers every
 * score without burying the hits.
 */
export async function matchKeywords(em: EntityManager, query: KeywordQuery): Promise<KeywordHit[]> {
  const filtered = documentsMatching(query);
  const ids = `{${query.collectionIds.join(',')}}`;
  const documents =
    filtered.params.length === 0
      ? 'null'
      : `array(select d.id from documents d where d.tenant_id = ? ${filtered.sql('d.id')})`;
  const readable = query.reading === null ? 'null, null' : '?::uuid[], ?::text[]';
  const rows = await em.execute<MatchRow[]>(
    `with question as materialized (
       select lexeme from unnest(to_tsvector(?::regconfig, ?))),
     frequent as (
       select s.lexeme, sum(s.df * c.chunk_count::float8 / greatest(c.lexeme_chunks, 1)) as df
       from lexeme_stats s join collections c on c.tenant_id = s.tenant_id and c.id = s.collection_id
       where s.tenant_id = ? and s.collection_id = any(?::uuid[]) and s.lexeme in (select lexeme from question)
       group by s.lexeme),
     ordered as (
       select lexeme, df, row_number() over w as n, sum(coalesce(df, 1)) over w as candidates
       from question left join frequent using (lexeme)
       window w as (order by coalesce(df, 0), lexeme rows unbounded preceding)),
     plan as (
       select array_agg(lexeme order by n) as lexemes, array_agg(case when rare then null else df end order by n) as df,
              count(*) filter (where rare)::integer as rare
       from (select *, n = 1 or candidates <= ${maxCandidates} as rare from ordered where n <= ${maxLexemes}) o
       having count(*) > 0)
     select r.* from plan p cross join lateral
       app.rank_readable_passages(?::uuid[], p.lexemes, p.df, p.rare, ?::float8, ${documents}, ${readable}, ?) r`,
    [
      query.config,
      query.question,
      query.tenantId,
      ids,
      ids,
      query.passages,
      ...(filtered.params.length === 0 ? [] : [query.tenantId, ...filtered.params]),
      ...(query.reading === null
        ? []
        : [`{${query.reading.enforcedIn.join(',')}}`, textArray(query.reading.readers)]),
      query.limit,
    ],
  );
  return rows.map(({ document_id: documentId, ...row }) => ({ documentId, ...row }));
}
