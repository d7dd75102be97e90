import { z } from 'zod';
import { signedCertificateSchema } from '#domain/operations/erasure-proof/certificate.ts';
import { deletionStatuses, deletionSteps } from '#domain/operations/tenant-deletion/deletion-status.ts';
import { data, queryInteger, timestamp, uuid } from './common.ts';

export const deletionParams = z.strictObject({ deletion_id: uuid });

/** A code of the caller's own; well-known ones are in `docs/api.md`. */
export const reasonCode = z
  .string()
  .regex(/^[a-z0-9_.-]{1,64}$/, 'must be 1 to 64 of a-z, 0-9, _ . -, such as contract_ended');

export const maxGraceSeconds = 31_536_000;

export const requestDeletionQuery = z.strictObject({
  reason_code: reasonCode,
  grace_seconds: queryInteger(0, maxGraceSeconds).optional().meta({
    type: 'integer',
    minimum: 0,
    maximum: maxGraceSeconds,
    description: 'Until the erasure begins. Only operators of the platform may shorten the default.',
  }),
});

const scheduled = {
  tenant_id: uuid,
  deletion_id: uuid,
  status: z.enum(deletionStatuses),
  reason_code: z.string(),
  requested_at: timestamp,
  purge_after: timestamp,
};

export const requestedDeletion = data(
  z.strictObject({
    ...scheduled,
    /** Reads the certificate when the tenant is gone. Shown once: a repeated request answers null. */
    certificate_token: z.string().nullable(),
  }),
);

const count = z.int().min(0);

export const signedCertificate = signedCertificateSchema.meta({ id: 'DeletionCertificate' });

export const deletionRecord = z
  .strictObject({
    ...scheduled,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
    progress: z.strictObject({
      step: z.enum(deletionSteps),
      /** The table that is erased at the moment. */
      table: z.string().nullable(),
      rows_done: count,
      /** Rows of all tables when the erasure began; null before. */
      rows_counted: count.nullable(),
    }),
    /** While it cannot go on: the operators of the platform are notified. */
    failure: z.strictObject({ step: z.enum(deletionSteps), reason: z.string(), at: timestamp }).nullable(),
    /** Of a deletion that has ended; null otherwise. */
    certificate: signedCertificate.nullable(),
  })
  .meta({ id: 'TenantDeletion' });
export const deletionEnvelope = data(deletionRecord);
