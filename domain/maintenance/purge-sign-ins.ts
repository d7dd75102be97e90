import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '#domain/persistence/database.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { RowFailures } from './row-failures.ts';

/** Removes sign-ins, tokens and sessions whose retention is over, as the purge role. */
export async function purgeSignIns(
  database: Database,
  purge: UnitOfWork,
  failures: RowFailures,
): Promise<void> {
  const tenants = await database.call<{ tenant_id: string }>(
    'list_tenants_with_stale_sign_ins',
    'select * from app.list_tenants_with_stale_sign_ins()',
    [],
  );
  for (const { tenant_id: tenantId } of tenants) {
    await failures.collect(() => purge.inTenant(tenantId, purgeTenant));
  }
}

/** A token is known a day longer than it works, so that its holder is told why; a session a month. */
async function purgeTenant(em: EntityManager): Promise<void> {
  await em.execute(`delete from login_transactions where expires_at < now() - interval '1 day'`);
  await em.execute('delete from used_id_tokens where expires_at < now()');
  await em.execute(`delete from session_tokens where expires_at < now() - interval '1 day'`);
  await em.execute(
    `delete from sessions s where s.expires_at < now() - interval '30 days'
       and not exists (select from session_tokens k where k.tenant_id = s.tenant_id and k.session_id = s.id)
       and not exists (select from used_id_tokens u where u.tenant_id = s.tenant_id and u.session_id = s.id)`,
  );
}
