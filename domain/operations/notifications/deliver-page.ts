import type { EntityManager } from '@mikro-orm/postgresql';
import { categoryOf } from '#domain/foundation/events/catalogue.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { endFanOut } from './end-fan-out.ts';
import { audienceOf, mayRead, within, type PageRange } from './find-audience.ts';
import { findEvent, type Notifiable } from './find-event.ts';
import { spaceOfEvent, type LoggedEvent } from '#domain/foundation/events/logged-event.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { isDeliveryDue } from './decide-delivery.ts';
import type { NotificationRule } from './notification-rules.ts';

/** One page of an event's recipients. */
export type DeliveryPage = { tenantId: string; eventId: string } & PageRange;

export interface Delivered {
  /** The last id that was considered; null when there are no more. */
  next: string | null;
  /** Rows that were inserted, without those of an earlier attempt. */
  delivered: number;
}

/**
 * Notifies a page of recipients, in the caller's transaction and in one statement, so that audience, read permission
 * and inserted rows are of one moment. Safe to repeat: the unique key drops duplicates. A page with a limit that it
 * does not reach is the last one and ends the fan-out; so does the first page if no delivery is due.
 */
export async function deliverPage(em: EntityManager, page: DeliveryPage): Promise<Delivered> {
  const found = await findEvent(em, page);
  if (found === null || (page.after === nilUuid && !(await isDeliveryDue(em, found)))) {
    await endFanOut(em, page);
    return { next: null, delivered: 0 };
  }
  const { seen, last, delivered } = await insertPage(em, found, page);
  hitFailpoint('notify.before_commit');
  if ('upTo' in page) {
    return { next: page.upTo, delivered };
  }
  if (seen < page.limit) {
    await endFanOut(em, page);
    return { next: null, delivered };
  }
  return { next: last, delivered };
}

async function insertPage(
  em: EntityManager,
  { event, rule }: Notifiable,
  page: DeliveryPage,
): Promise<{ seen: number; last: string | null; delivered: number }> {
  const [audience, readable, space] = [
    within(await audienceOf(em, rule, event), page),
    await mayRead(em, rule, event),
    await nameOfSpace(em, event),
  ];
  const body = rule.body?.(event) ?? '';
  const [row] = await em.execute<{ seen: number; last: string | null; delivered: number }[]>(
    // The cost of a page must not depend on the tenant's size or on stale statistics. Each principal is one lookup by
    // key, which `limit 1` keeps the planner from turning into a join; roles are searched between the first and last
    // id of the page.
    `with candidates as materialized (${audience.sql}),
     ends as materialized (
       select (select user_id from candidates order by user_id limit 1) as first,
              (select user_id from candidates order by user_id desc limit 1) as last),
     written as (
       insert into notifications (tenant_id, event_id, user_id, category, event_type, resource_type, resource_id, title, body)
       select p.tenant_id, ?::uuid, p.id, ?, ?, ?, ?, ?, ?
       from candidates c cross join lateral (
         select tenant_id, id, type, status from principals where tenant_id = ?::uuid and id = c.user_id limit 1) p
       where p.type = 'user' and p.status = 'active' and p.id is distinct from ?::uuid and ${readable.sql}
       order by c.user_id
       on conflict do nothing
       returning 1)
     select (select count(*)::int from candidates) as seen,
            (select last from ends) as last,
            (select count(*)::int from written) as delivered`,
    [
      ...audience.values,
      event.id,
      categoryOf(event.type),
      event.type,
      event.resource.type,
      event.resource.id,
      rule.title(event, space),
      body === '' ? null : body,
      event.tenantId,
      isActorExcluded(rule, event) ? event.actorId : null,
      ...readable.values,
    ],
  );
  if (row === undefined) {
    throw new Error('The page of recipients has no count.');
  }
  return row;
}

/** An actor is not notified of its own act, except of what a workflow or a schedule did for it. */
function isActorExcluded(rule: NotificationRule, { metadata }: LoggedEvent): boolean {
  return rule.notifiesActor !== true && metadata['via'] !== 'workflow' && metadata['via'] !== 'schedule';
}

async function nameOfSpace(em: EntityManager, event: LoggedEvent): Promise<string> {
  const id = spaceOfEvent(event);
  const space = id === null ? null : await em.findOne(Space, { id });
  return space === null ? 'a space' : `the space ${space.name}`;
}
