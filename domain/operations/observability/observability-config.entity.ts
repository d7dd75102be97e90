import { defineEntity } from '@mikro-orm/core';
import type { FieldPlace } from '#domain/foundation/secrets/field-place.ts';
import type { TraceError } from './trace-exporter.ts';

const schema = defineEntity({
  name: 'ObservabilityConfig',
  tableName: 'observability_configs',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    spaceId: p.uuid().primary(),
    publicKey: p.text(),
    /** Sealed; see `secretPlace`. */
    secretKey: p.text(),
    projectId: p.json<unknown>().nullable(),
    baseUrl: p.text().nullable(),
    lastError: p.text().$type<TraceError>().nullable(),
    updatedBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

export class ObservabilityConfig extends schema.class {}
schema.setClass(ObservabilityConfig);

/** Where the secret key of a space's configuration is sealed. */
export function secretPlace({ tenantId, spaceId }: { tenantId: string; spaceId: string }): FieldPlace {
  return { tenantId, table: 'observability_configs', column: 'secret_key', row: spaceId };
}
