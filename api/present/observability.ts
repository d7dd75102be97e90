import type { z } from 'zod';
import type { observabilityRecord } from '#api/contract/observability.ts';
import type { ObservabilityConfig } from '#domain/operations/observability/observability-config.entity.ts';

/** Without the secret key, sealed or not. */
export function presentObservability(config: ObservabilityConfig): z.infer<typeof observabilityRecord> {
  return {
    space_id: config.spaceId,
    tracing_public_key: config.publicKey,
    tracing_project_id: config.projectId ?? null,
    tracing_base_url: config.baseUrl ?? null,
    last_error: config.lastError ?? null,
    updated_by: config.updatedBy,
    created_at: config.createdAt.toISOString(),
    updated_at: config.updatedAt.toISOString(),
  };
}
