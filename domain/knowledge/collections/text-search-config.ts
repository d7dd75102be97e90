import type { Context } from '#domain/foundation/access/context.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import type { Collection } from './collection.entity.ts';

/** @throws `invalid_request` unless PostgreSQL brings this text search configuration */
export async function knownConfig(ctx: Context, name: string): Promise<string> {
  const found = await ctx.em.execute(
    `select from pg_ts_config where cfgname = ? and cfgnamespace = 'pg_catalog'::regnamespace`,
    [cleanText(name)],
  );
  if (found.length === 0) {
    throw invalid(
      'text_search_config',
      'text_search_config must be a configuration that PostgreSQL brings, such as english, german or simple.',
    );
  }
  return name;
}

/** Former languages in which passages of a collection may have to be found: a search ranks once for each. */
const maxFormer = 3;

/** The collection is locked for a change. @throws `invalid_state` for a language more while passages have so many */
export async function requireFewLanguages(
  { em }: Context,
  { tenantId, id }: Collection,
  config: string,
): Promise<void> {
  const exceeded = await em.execute(
    `select from language_changes where tenant_id = ? and collection_id = ?
       and cardinality(former) >= ? and ?::regconfig <> all (former)`,
    [tenantId, id, maxFormer, config],
  );
  if (exceeded.length > 0) {
    throw new DomainError(
      'invalid_state',
      `Passages of this collection are still found in ${maxFormer} former languages. Wait until they are indexed again, or choose one of them.`,
    );
  }
}
