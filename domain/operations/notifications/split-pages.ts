import type { EntityManager } from '@mikro-orm/postgresql';
import { audienceOf, within, type PageRange } from './find-audience.ts';
import { findEvent, type Notifiable } from './find-event.ts';

/** The recipients to split. */
export interface PageSplit {
  tenantId: string;
  eventId: string;
  /** The last id that was considered before. */
  after: string;
  /** Recipients per page. */
  size: number;
  /** Max number of pages. */
  count: number;
}

/**
 * The next pages of an event's recipients, for concurrent transactions: `count` whole pages or, if fewer are left,
 * one page for the rest. Each page ends where the next begins, so no recipient is skipped when the audience changes
 * meanwhile.
 */
export async function splitPages(
  em: EntityManager,
  { tenantId, eventId, after, size, count }: PageSplit,
): Promise<PageRange[]> {
  const found = await findEvent(em, { tenantId, eventId });
  const ends = found === null ? [] : await findEnds(em, found, { after, size, count });
  return ends.length < count
    ? [{ after, limit: size * count }]
    : ends.map((upTo, i) => ({ after: ends[i - 1] ?? after, upTo }));
}

/** The last id of each whole page. */
async function findEnds(
  em: EntityManager,
  { event, rule }: Notifiable,
  { after, size, count }: Pick<PageSplit, 'after' | 'size' | 'count'>,
): Promise<string[]> {
  const audience = within(await audienceOf(em, rule, event), { after, limit: size * count });
  const rows = await em.execute<{ user_id: string }[]>(
    `select user_id from (select user_id, row_number() over (order by user_id) as place from (${audience.sql}) next) placed
      where place % ? = 0 order by user_id`,
    [...audience.values, size],
  );
  return rows.map((row) => row.user_id);
}
