import type { EntityManager } from '@mikro-orm/postgresql';
import type { SignedCertificate } from './certificate.ts';

/** Keeps the certificate of an erased tenant, in a transaction of the purge role. A repeat keeps the first. */
export async function buryTenant(em: EntityManager, signed: SignedCertificate): Promise<void> {
  const { deletion_id: deletionId, tenant_id: tenantId, reason_code: reasonCode } = signed.certificate;
  await em.execute(
    `insert into app.tenant_tombstones (deletion_id, tenant_id, reason_code, certificate) values (?, ?, ?, ?)
     on conflict (deletion_id) do nothing`,
    [deletionId, tenantId, reasonCode, JSON.stringify(signed)],
  );
}

/** The certificate of a deletion, as it was signed; null if there is none. */
export async function readTombstone(em: EntityManager, deletionId: string): Promise<string | null> {
  const [row] = await em.execute<{ certificate: string }[]>(
    'select certificate from app.tenant_tombstones where deletion_id = ?',
    [deletionId],
  );
  return row?.certificate ?? null;
}
