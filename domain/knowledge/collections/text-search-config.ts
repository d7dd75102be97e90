import type { Context } from '#domain/foundation/access/context.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';

/** @throws `invalid_request` unless PostgreSQL brings this text search configuration */
export async function knownConfig(ctx: Context, name: string): Promise<string> {
  const found = await ctx.em.execute(
    `select from pg_ts_config where cfgname = ? and cfgnamespace = 'pg_catalog'::regnamespace`,
    [cleanText(name)],
  );
  if (found.length === 0) {
    throw invalid('text_search_config', 'No such text search configuration.');
  }
  return name;
}
