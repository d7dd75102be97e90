import { z } from 'zod';

const counts = z.record(z.string(), z.int().nonnegative());
const time = z.iso.datetime().meta({ examples: ['2026-11-27T08:30:00.000Z'] });
const id = z.uuid().meta({ examples: ['01a1fe56-c459-7491-a31d-093e3c1f9c54'] });

/** What was erased of a tenant and how it was checked: ids, times, counts and hashes, and nobody's name. */
export const certificateSchema = z.strictObject({
  version: z.literal(1),
  tenant_id: id,
  deletion_id: id,
  reason_code: z.string(),
  software_version: z.string(),
  requested_at: time,
  began_at: time,
  finished_at: time,
  erased_by_key: z.strictObject({
    /** Ids of the destroyed keys. Everything that was sealed under them can no longer be read, backups included. */
    key_ids: z.array(z.guid().meta({ examples: ['01a1fe56-c459-7491-a31d-093e3c1f9c54'] })),
    destroyed_at: time,
  }),
  erased_by_row: z.strictObject({
    /** Rows per table when the erasure began, and rows that it deleted. */
    rows_before: counts,
    rows_erased: counts,
    /** Bytes per store. */
    bytes: counts,
  }),
  external_revocations: z.array(z.strictObject({ kind: z.string(), id: z.string(), outcome: z.string() })),
  workflow_histories_deleted: z.int().nonnegative(),
  event_chain: z
    .strictObject({
      last_hash: z.string(),
      event_count: z.int().nonnegative(),
      anchored_at: time.nullable(),
    })
    .nullable(),
  verification: z.strictObject({
    verified_at: time,
    tables: counts,
    shared: counts,
    bytes: z.int().nonnegative(),
    workflows: z.int().nonnegative(),
    sampled_ids: z.int().nonnegative(),
  }),
});

export type Certificate = z.infer<typeof certificateSchema>;

/** Whether a verification counted 0 everywhere. */
export function foundNothing({ tables, shared, bytes, workflows }: Certificate['verification']): boolean {
  return [...Object.values(tables), ...Object.values(shared), bytes, workflows].every((count) => count === 0);
}

/** The file that is handed out. The signature covers the canonical JSON (RFC 8785) of `certificate`. */
export const signedCertificateSchema = z.strictObject({
  certificate: certificateSchema,
  signature: z.strictObject({
    algorithm: z.literal('Ed25519'),
    /** The first 16 hex digits of the SHA-256 of the key. */
    key_id: z.string(),
    /** Raw, in base64url. */
    public_key: z.string(),
    /** In base64url. */
    value: z.string(),
  }),
});

export type SignedCertificate = z.infer<typeof signedCertificateSchema>;
