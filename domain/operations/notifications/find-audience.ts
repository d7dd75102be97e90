import type { EntityManager } from '@mikro-orm/postgresql';
import { rolesGranting } from '#domain/identity/roles/roles-granting.ts';
import { foldedInSql } from '#domain/identity/principals/fold-address.ts';
import { maxUuid } from '#domain/foundation/kernel/ids.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import { spaceOfEvent, type LoggedEvent } from '#domain/foundation/events/logged-event.ts';
import type { Audience, NotificationRule } from './notification-rules.ts';

/** A piece of SQL with its values. */
export interface Fragment {
  sql: string;
  values: unknown[];
}

const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/**
 * The ids of all recipients that `rule` names for `event`, as queries with one column. No query returns an id twice,
 * but several may return the same id: a page that is not full is then the last one.
 */
export async function audienceOf(
  em: EntityManager,
  rule: NotificationRule,
  event: LoggedEvent,
): Promise<Fragment[]> {
  const parts: Fragment[] = [];
  for (const audience of rule.audience) {
    parts.push(await fragmentOf(em, audience, event));
  }
  return parts;
}

async function fragmentOf(em: EntityManager, audience: Audience, event: LoggedEvent): Promise<Fragment> {
  const { tenantId } = event;
  const spaceId = spaceOfEvent(event);
  switch (audience.kind) {
    case 'principal': {
      const named = own(event.metadata, audience.member);
      const id = isUuid(named) ? named : event.resource.type === 'principal' ? event.resource.id : null;
      return { sql: 'select ?::uuid as user_id', values: [id] };
    }
    case 'actor':
      return { sql: 'select ?::uuid as user_id', values: [event.actorId] };
    case 'requester':
      return {
        sql: 'select principal_id as user_id from response_ids where tenant_id = ? and id = ?',
        values: [tenantId, event.resource.id],
      };
    case 'invited':
      return {
        sql: `select p.id as user_id from invites i
                join principals p on p.tenant_id = i.tenant_id and ${foldedInSql('p.email')} = ${foldedInSql('i.email')}
               where i.tenant_id = ? and i.id = ?::uuid and i.status = 'pending'`,
        values: [tenantId, event.resource.id],
      };
    case 'connector_of_server':
      return {
        sql: 'select created_by as user_id from mcp_servers where tenant_id = ? and id = ?::uuid',
        values: [tenantId, event.resource.id],
      };
    case 'space_members':
      return {
        sql: 'select principal_id as user_id from space_members where tenant_id = ? and space_id = ?::uuid',
        values: [tenantId, spaceId],
      };
    case 'space_admins':
      return {
        sql: `select principal_id as user_id from space_members where tenant_id = ? and space_id = ?::uuid
                and role_key in (select jsonb_array_elements_text(?::jsonb))`,
        values: [tenantId, spaceId, JSON.stringify(await rolesGranting(em, 'spaces.update'))],
      };
    case 'admins_of_spaces_with_model':
      return {
        sql: `select distinct m.principal_id as user_id from ${spacesWithModel(event)} s
                join space_members m on m.tenant_id = s.tenant_id and m.space_id = s.space_id
               where s.tenant_id = ? and s.model_id = ?::uuid
                 and m.role_key in (select jsonb_array_elements_text(?::jsonb))`,
        values: [
          tenantId,
          event.resource.id,
          JSON.stringify(await rolesGranting(em, 'spaces.manage_models')),
        ],
      };
    case 'skill_users': {
      const skillId = event.metadata['skill_id'];
      return {
        sql: `select principal_id as user_id from skill_uses where tenant_id = ? and skill_id = ?::uuid
                and last_used_at > uuid_extract_timestamp(?::uuid) - interval '30 days'`,
        values: [tenantId, isUuid(skillId) ? skillId : null, event.id],
      };
    }
    case 'tenant_owners':
    case 'tenant_admins': {
      const permission = audience.kind === 'tenant_owners' ? 'tenants.delete' : 'tenants.update';
      return {
        sql: `select distinct principal_id as user_id from role_assignments where tenant_id = ?
                and role_key in (select jsonb_array_elements_text(?::jsonb))`,
        values: [tenantId, JSON.stringify(await rolesGranting(em, permission))],
      };
    }
  }
}

/** The rows that name the spaces of the event's model, by its kind. Models that answer have none in the metadata. */
function spacesWithModel({ metadata }: LoggedEvent): string {
  switch (metadata['kind']) {
    case 'reranking':
      return 'space_reranking';
    case 'embedding':
      return `(select tenant_id, space_id, model_id from embedding_generations where state in ('active', 'building'))`;
    default:
      return 'space_models';
  }
}

/** A range of an audience, in the order of its ids. */
export type PageRange = {
  /** The last id before the range. */
  after: string;
} & ({ limit: number } | { /** The last id of the range. */ upTo: string });

/** The recipients in a range of an audience at this moment; each part of the audience returns at most the limit. */
export function within(parts: readonly Fragment[], range: PageRange): Fragment {
  const [upTo, limit] = 'upTo' in range ? [range.upTo, null] : [maxUuid, range.limit];
  const each = parts.map(
    ({ sql }) =>
      `(select user_id from (${sql}) named where user_id > ?::uuid and user_id <= ?::uuid order by user_id limit ?::int)`,
  );
  return {
    sql: `select user_id from (${each.join(' union ')}) named order by user_id limit ?::int`,
    values: [...parts.flatMap(({ values }) => [...values, range.after, upTo, limit]), limit],
  };
}

/**
 * Whether principal `p` may read the event's resource at this moment, as a condition in a query that has the `first`
 * and the `last` such principal in `ends`.
 */
export async function mayRead(
  em: EntityManager,
  rule: NotificationRule,
  event: LoggedEvent,
): Promise<Fragment> {
  if (rule.readable === undefined) {
    return { sql: 'true', values: [] };
  }
  const roles = JSON.stringify(await rolesGranting(em, rule.readable));
  const holds = (table: string, where: string, ...place: unknown[]): Fragment => ({
    sql: `exists (select from ${table} h where h.tenant_id = p.tenant_id and h.principal_id = p.id and ${where}
             and h.principal_id between (select first from ends) and (select last from ends)
             and h.role_key = any (array(select jsonb_array_elements_text(?::jsonb))))`,
    values: [...place, roles],
  });
  const { type, id } = event.resource;
  const ways = [
    holds('space_members', 'h.space_id = ?::uuid', spaceOfEvent(event)),
    holds('role_assignments', 'true'),
    ...(type === 'project' ? [holds('project_members', 'h.project_id = ?::uuid', id)] : []),
  ];
  return {
    sql: `(${ways.map(({ sql }) => sql).join(' or ')})`,
    values: ways.flatMap(({ values }) => values),
  };
}
