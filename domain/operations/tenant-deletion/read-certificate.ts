import type { EntityManager } from '@mikro-orm/postgresql';
import type { SignedCertificate } from '#domain/operations/erasure-proof/certificate.ts';
import { readTombstone } from '#domain/operations/erasure-proof/tombstone.ts';

/** The certificate of a deletion as it was signed; null: it has not ended. */
export async function readCertificate(
  em: EntityManager,
  deletionId: string,
): Promise<SignedCertificate | null> {
  const text = await readTombstone(em, deletionId);
  return text === null ? null : (JSON.parse(text) as SignedCertificate);
}
