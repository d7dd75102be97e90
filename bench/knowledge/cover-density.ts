import type { EntityManager } from '@mikro-orm/postgresql';

export interface CoverDensityQuery {
  collectionId: string;
  question: string;
  /** Passages of the collection. */
  passages: number;
}

/**
 * The keyword search that BM25 replaced, as the reference: coverage of the question's weight, and a fifth for
 * PostgreSQL's cover-density rank relative to the best.
 */
export async function coverDensity(
  em: EntityManager,
  { collectionId, question, passages }: CoverDensityQuery,
): Promise<{ documentId: string; position: number }[]> {
  const rows = await em.execute<{ document_id: string; position: number; rank: number; coverage: number }[]>(
    `with question as materialized (
       select lexeme, ('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''')::tsquery as query
       from unnest(to_tsvector('english', ?)) limit 32),
     wanted as materialized (select string_agg(query::text, ' | ')::tsquery as query from question),
     total as (select ?::float8 as n),
     candidates as materialized (
       select c.document_id, c.generation, c.position, c.tsv || ''::tsvector as tsv
       from chunks c join documents d
         on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation, wanted w
       where c.collection_id = ? and d.collection_id = ? and c.tsv @@ w.query),
     matches as materialized (
       select c.document_id, c.generation, c.position, ts_rank_cd(c.tsv, w.query, 1) as rank,
              array(select q.lexeme from question q where c.tsv @@ q.query) as hits
       from candidates c, wanted w),
     present as materialized (
       select lexeme, 1 + ln((greatest(t.n, count(*)) + 1)::float8 / (count(*) + 1)) as weight
       from matches, unnest(hits) as lexeme, total t group by lexeme, t.n),
     whole as (
       select sum(weight) + avg(weight) * ((select count(*) from question) - count(*)) as weight from present)
     select m.document_id, m.position, m.rank::float8 as rank,
            least(1, (select sum(p.weight) from present p where p.lexeme = any(m.hits)) / w.weight)::float8 as coverage
     from matches m, whole w
     order by coverage desc, rank desc, m.document_id, m.position
     limit 200`,
    [question, passages, collectionId, collectionId],
  );
  const topRank = Math.max(...rows.map(({ rank }) => rank), Number.MIN_VALUE);
  return rows
    .map(({ document_id: documentId, position, coverage, rank }) => ({
      documentId,
      position,
      score: 0.8 * coverage + 0.2 * (rank / topRank),
    }))
    .sort((a, b) => b.score - a.score);
}
