import { newId, nilUuid } from '#domain/foundation/kernel/ids.ts';
import { deliverPage } from '#domain/operations/notifications/deliver-page.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Client } from 'pg';

/** So many users with a role in a space, by one statement. @returns their ids, in order */
export async function addUsers(
  admin: Client,
  place: { tenantId: string; spaceId: string },
  options: { count: number; role?: string },
): Promise<string[]> {
  const { rows } = await admin.query<{ id: string }>(
    `with made as (
       insert into principals (tenant_id, id, type, name)
       select $1, uuidv7(), 'user', 'user ' || n from generate_series(1, $2::int) n returning id)
     insert into space_members (tenant_id, space_id, principal_id, role_key)
       select $1, $3, id, $4 from made returning principal_id as id`,
    [place.tenantId, options.count, place.spaceId, options.role ?? 'space_member'],
  );
  return rows.map(({ id }) => id).toSorted();
}

/** Runs all pages of a fan-out. @returns rows written */
export async function deliverAll(
  unitOfWork: UnitOfWork,
  tenantId: string,
  eventId: string,
  limit = 1_000,
): Promise<number> {
  let delivered = 0;
  for (let after: string | null = nilUuid; after !== null;) {
    const from: string = after;
    const page = await unitOfWork.inTenant(tenantId, (em) =>
      deliverPage(em, { tenantId, eventId, after: from, limit }),
    );
    delivered += page.delivered;
    after = page.next;
  }
  return delivered;
}

/** An event in the log without a pending fan-out. */
export async function logEvent(
  admin: Client,
  tenantId: string,
  event: {
    type: string;
    actorId?: string | null;
    resource: { type: string; id: string };
    metadata?: Record<string, unknown>;
    agoSeconds?: number;
  },
): Promise<string> {
  const id = event.agoSeconds === undefined ? newId() : await idOfAgo(admin, event.agoSeconds);
  await admin.query(
    `insert into events (tenant_id, id, category, event_type, actor_id, resource_type, resource_id, metadata)
     values ($1, $2, split_part($3, '.', 1), $3, $4, $5, $6, $7)`,
    [
      tenantId,
      id,
      event.type,
      event.actorId ?? null,
      event.resource.type,
      event.resource.id,
      { via: 'api', ...event.metadata },
    ],
  );
  return id;
}

/** When an event was recorded follows from its id. */
async function idOfAgo(admin: Client, seconds: number): Promise<string> {
  const { rows } = await admin.query<{ id: string }>('select uuidv7(make_interval(secs => $1)) as id', [
    -seconds,
  ]);
  return rows[0]!.id;
}
