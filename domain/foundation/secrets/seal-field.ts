import { createCipheriv, randomBytes } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { associatedData, type FieldPlace, type FieldWork } from './field-place.ts';

/** A key seals for this many days; older keys only decrypt. */
const ROTATION_DAYS = 90;

/**
 * Encrypts a field for storage: AES-256-GCM under a key of its tenant, or of one principal where erasing that person
 * must make the text unreadable. Text form: `v1|<key id>|<iv>|<ciphertext>|<tag>`, the last three in base64url.
 * @param principalId seals under that principal's own key instead of the tenant's.
 * @throws `invalid_credentials` for a deleted principal or a tenant that is being erased, which have no key any more
 */
export async function sealField(
  work: FieldWork,
  place: FieldPlace,
  text: string,
  principalId: string | null = null,
): Promise<string> {
  const { id, key } = await currentKey(work, place.tenantId, principalId);
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associatedData(place, id));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return ['v1', id, ...[iv, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('|');
}

async function currentKey(
  { em, secrets }: FieldWork,
  tenantId: string,
  principalId: string | null,
): Promise<{ id: string; key: Buffer }> {
  const [row] = await em.execute<{ id: string; wrapped: string }[]>(
    `select id, wrapped from data_keys
     where tenant_id = ? and principal_id is not distinct from ?::uuid
       and created_at > now() - make_interval(days => ?)
     order by created_at desc, id desc limit 1`,
    [tenantId, principalId, ROTATION_DAYS],
  );
  return row === undefined
    ? makeKey(em, secrets, tenantId, principalId)
    : { id: row.id, key: secrets.openDataKey(`${tenantId}|${row.id}`, row.wrapped) };
}

/** Two callers that need a first key concurrently create two; both stay valid. */
async function makeKey(
  em: EntityManager,
  secrets: Secrets,
  tenantId: string,
  principalId: string | null,
): Promise<{ id: string; key: Buffer }> {
  if (principalId !== null) {
    // Waits for a concurrent erasure, which would otherwise miss a key created at the same time.
    const living = await em.execute(
      'select from principals where tenant_id = ? and id = ? and deleted_at is null for key share',
      [tenantId, principalId],
    );
    if (living.length === 0) {
      throw invalidCredentials();
    }
  }
  // Once a tenant is being erased its keys are destroyed, and no other takes their place.
  const open = await em.execute(
    `select from tenants where tenant_id = ? and status not in ('deleting', 'deleted') for key share`,
    [tenantId],
  );
  if (open.length === 0) throw invalidCredentials();
  const id = newId();
  const { key, wrapped } = secrets.newDataKey(`${tenantId}|${id}`);
  await em.execute('insert into data_keys (tenant_id, id, principal_id, wrapped) values (?, ?, ?, ?)', [
    tenantId,
    id,
    principalId,
    wrapped,
  ]);
  return { id, key };
}
