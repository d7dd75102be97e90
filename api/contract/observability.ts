import { z } from 'zod';
import { traceErrors } from '#domain/operations/observability/trace-exporter.ts';
import { data, timestamp, uuid } from './common.ts';

export const setObservabilityBody = z.strictObject({
  tracing_public_key: z.string().min(1).max(200),
  tracing_secret_key: z
    .string()
    .min(1)
    .max(500)
    .meta({ description: 'Sealed at once and never shown again.' }),
  tracing_project_id: z
    .unknown()
    .optional()
    .meta({ description: 'Any JSON of at most 1,000 characters; it goes along with every trace.' }),
  tracing_base_url: z
    .string()
    .max(500)
    .nullable()
    .optional()
    .meta({ description: 'An https address; the deployment’s own when left out.' }),
});

export const observabilityRecord = z
  .strictObject({
    space_id: uuid,
    tracing_public_key: z.string(),
    tracing_project_id: z.unknown(),
    tracing_base_url: z.string().nullable(),
    /** Why the latest export failed; null: it succeeded, or there was none yet. */
    last_error: z.enum(traceErrors).nullable(),
    updated_by: uuid,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'ObservabilityConfig' });

export const observabilityEnvelope = data(observabilityRecord);
export const observabilityRemoved = data(z.strictObject({ space_id: uuid, deleted: z.literal(true) }));
