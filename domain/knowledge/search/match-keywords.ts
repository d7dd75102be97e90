import type { EntityManager } from '@mikro-orm/postgresql';
import { documentsMatching, type DocumentFilter } from './document-filter.ts';
import type { KeywordHit } from './fuse-hits.ts';

interface MatchRow {
  document_id: string;
  generation: number;
  position: number;
  rank: number;
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
  limit: number;
}

/**
 * Full text: the question's lexemes are OR-ed, because no passage contains all words of a differently worded
 * question. A lexeme weighs more the fewer passages contain it. A lexeme without any passage has the average weight
 * of the others, so that it lowers every coverage without burying the hits.
 */
export async function matchKeywords(em: EntityManager, query: KeywordQuery): Promise<KeywordHit[]> {
  const filtered = documentsMatching(query);
  const ids = `{${query.collectionIds.join(',')}}`;
  const rows = await em.execute<MatchRow[]>(
    `with question as materialized (
       select lexeme, ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery as query
       from unnest(to_tsvector(?::regconfig, ?)) limit 32),
     wanted as materialized (select string_agg(query::text, ' | ')::tsquery as query from question),
     total as (select ?::float8 as n),
     -- concatenation unpacks a vector once, not once for each lexeme
     candidates as materialized (
       select c.document_id, c.generation, c.position, c.tsv || ''::tsvector as tsv
       from chunks c join documents d
         on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation, wanted w
       where c.collection_id = any(?::uuid[]) and d.collection_id = any(?::uuid[]) and c.tsv @@ w.query
         ${filtered.sql('d.id')}),
     matches as materialized (
       select c.document_id, c.generation, c.position, ts_rank_cd(c.tsv, w.query, 1) as rank,
              array(select q.lexeme from question q where c.tsv @@ q.query) as hits
       from candidates c, wanted w),
     present as materialized (
       select lexeme, 1 + ln((greatest(t.n, count(*)) + 1)::float8 / (count(*) + 1)) as weight
       from matches, unnest(hits) as lexeme, total t group by lexeme, t.n),
     whole as (
       select sum(weight) + avg(weight) * ((select count(*) from question) - count(*)) as weight from present)
     select m.document_id, m.generation, m.position, m.rank::float8 as rank,
            least(1, (select sum(p.weight) from present p where p.lexeme = any(m.hits)) / w.weight)::float8 as coverage
     from matches m, whole w
     order by coverage desc, rank desc, m.document_id, m.position
     limit ?`,
    [query.config, query.question, query.passages, ids, ids, ...filtered.params, query.limit],
  );
  return rows.map((row) => ({
    documentId: row.document_id,
    generation: row.generation,
    position: row.position,
    rank: row.rank,
    coverage: row.coverage,
  }));
}
