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
  collectionIds: string[];
  question: string;
  filter: DocumentFilter;
  /** What the caller may read at the sources; null: no collection enforces that. */
  reading: SourceReading | null;
  /** Max hits in each language. */
  limit: number;
}

/** Max passages that are ranked, as estimated before the search; the rarest word's passages always are. */
const maxCandidates = 3_000;
/** Max different words of a question that are looked for: its rarest. */
const maxLexemes = 32;
/** Max words that are counted: the longest, which are rare as a rule. */
const maxCounted = 32;

/**
 * BM25 over the passages with any of the question's rarest words: no passage contains all words of a differently
 * worded question, and passages that share only frequent words with it are too many to rank. A word weighs more the
 * fewer passages contain it; one without any passage has the average weight of the others, so that it lowers every
 * score without burying the hits.
 *
 * Statistics say how frequent a word is in a large collection. Where the others have many passages together, its passages
 * in them are counted; where there are too many to count, or the word was left out, it counts as frequent.
 *
 * While the language of a collection changes, its passages have words of several: each is asked in its own. The languages
 * are read in the snapshot of the search, so that it misses no passage whose words are replaced meanwhile.
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
    `with members as materialized (
       select c.id, c.chunk_count, c.lexeme_chunks, l.config
       from collections c left join language_changes g on g.tenant_id = c.tenant_id and g.collection_id = c.id
       cross join lateral unnest(coalesce(g.former, '{}') || c.text_search_config) as l(config)
       where c.tenant_id = ? and c.id = any(?::uuid[])),
     languages as materialized (
       select config, array_agg(id) as collections, sum(chunk_count)::float8 as passages,
              array_agg(id) filter (where unmeasured > 0) as unmeasured, sum(unmeasured)::float8 as uncounted
       from members cross join lateral (select case when lexeme_chunks = 0 then chunk_count else 0 end as unmeasured)
       group by config),
     question as materialized (
       select l.config, q.lexeme from languages l cross join lateral unnest(to_tsvector(l.config, ?)) q),
     frequent as (
       select m.config, s.lexeme, sum(s.df * m.chunk_count::float8 / greatest(m.lexeme_chunks, 1)) as df
       from members m join question q using (config)
       join lexeme_stats s on s.tenant_id = ? and s.collection_id = m.id and s.lexeme = q.lexeme
       group by m.config, s.lexeme),
     counted as (
       select l.config, c.lexeme, c.df
       from languages l cross join lateral app.count_lexemes(l.unmeasured, array(
         select q.lexeme from question q where q.config = l.config
         order by length(q.lexeme) desc, q.lexeme limit ${maxCounted}), ${maxCandidates + 1}) c
       where l.uncounted > ${maxCandidates}),
     known as (
       select q.config, q.lexeme, case when l.uncounted <= ${maxCandidates} then f.df else coalesce(f.df, 0) +
         case when c.df <= ${maxCandidates} then c.df else sqrt(${maxCandidates} * l.uncounted) end end as df
       from question q join languages l using (config)
       left join frequent f using (config, lexeme) left join counted c using (config, lexeme)),
     ordered as (
       select config, lexeme, df, row_number() over w as n, sum(coalesce(df, 1)) over w as candidates
       from known
       window w as (partition by config order by coalesce(df, 0), lexeme rows unbounded preceding)),
     plan as (
       select config, array_agg(lexeme order by n) as lexemes,
              array_agg(case when rare then null else df end order by n) as df,
              count(*) filter (where rare)::integer as rare
       from (select *, n = 1 or candidates <= ${maxCandidates} as rare from ordered where n <= ${maxLexemes}) o
       group by config)
     select r.* from plan p join languages l using (config) cross join lateral
       app.rank_passages_of_language(p.config, l.collections, p.lexemes, p.df, p.rare, l.passages, ${documents}, ${readable}, ?) r`,
    [
      query.tenantId,
      ids,
      query.question,
      query.tenantId,
      ...(filtered.params.length === 0 ? [] : [query.tenantId, ...filtered.params]),
      ...(query.reading === null
        ? []
        : [`{${query.reading.enforcedIn.join(',')}}`, textArray(query.reading.readers)]),
      query.limit,
    ],
  );
  return rows.map(({ document_id: documentId, ...row }) => ({ documentId, ...row }));
}
