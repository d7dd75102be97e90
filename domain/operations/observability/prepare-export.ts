import type { EntityManager } from '@mikro-orm/postgresql';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { ObservabilityConfig, secretPlace } from './observability-config.entity.ts';
import { readTrace, type ResponseTrace } from './response-trace.ts';
import type { TraceError, TraceTarget } from './trace-exporter.ts';

/** A trace and the target that its space has configured. Null without a trace or a target. */
export async function prepareExport(
  work: FieldWork,
  responseId: string,
): Promise<{ trace: ResponseTrace; target: TraceTarget } | null> {
  const trace = await readTrace(work.em, responseId);
  const config =
    trace === null ? null : await work.em.findOne(ObservabilityConfig, { spaceId: trace.spaceId });
  const secretKey = config === null ? null : await openField(work, secretPlace(config), config.secretKey);
  if (trace === null || config === null || secretKey === null) {
    return null;
  }
  const { baseUrl = null, publicKey, projectId = null } = config;
  return { trace, target: { baseUrl, publicKey, secretKey, projectId } };
}

/** Records the result of the latest export for the space's administrators; an unchanged row is not written. */
export async function recordExport(
  em: EntityManager,
  spaceId: string,
  error: TraceError | null,
): Promise<void> {
  await em.execute(
    'update observability_configs set last_error = ? where space_id = ? and last_error is distinct from ?',
    [error, spaceId, error],
  );
}
