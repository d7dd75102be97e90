import type { EntityManager } from '@mikro-orm/postgresql';

const maxRanked = 500;

/**
 * The approved tools of these servers whose name, title or description contains words of the query, best first; names
 * have the highest weight. Words of a name are split at hyphens, underscores and capitals.
 * @returns exposed names
 */
export async function rankTools(
  em: EntityManager,
  { spaceId, slugs, query }: { spaceId: string; slugs: readonly string[]; query: string },
): Promise<string[]> {
  const words = (column: string) =>
    String.raw`regexp_replace(regexp_replace(${column}, '([a-z0-9])([A-Z])', '\1 \2', 'g'), '[_./-]+', ' ', 'g')`;
  const rows = await em.execute<{ exposed_name: string }[]>(
    `with asked as (
       select replace(plainto_tsquery('english', ${words('?::text')})::text, ' & ', ' | ')::tsquery as query
     )
     select exposed_name from (
       select t.exposed_name, ts_rank(
           setweight(to_tsvector('english', ${words('t.name')}), 'A')
             || setweight(to_tsvector('english', coalesce(t.title, '')), 'B')
             || setweight(to_tsvector('english', left(t.description, 1000)), 'C'), asked.query) as rank
         from asked, mcp_servers s join mcp_tools t on t.tenant_id = s.tenant_id and t.server_id = s.id
         where s.space_id = ? and s.status = 'connected' and s.slug = any(?)
           and t.state = 'approved' and t.approved_hash = t.schema_hash and not t.requires_task
     ) ranked where rank > 0 order by rank desc, exposed_name limit ?`,
    [query, spaceId, `{${slugs.join(',')}}`, maxRanked],
  );
  return rows.map((row) => row.exposed_name);
}
