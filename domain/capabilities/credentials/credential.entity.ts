import { defineEntity } from '@mikro-orm/core';
import type { FieldPlace } from '#domain/foundation/secrets/field-place.ts';
import type { CredentialKind } from './credential-value.ts';

const schema = defineEntity({
  name: 'Credential',
  tableName: 'credentials',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid().nullable(),
    ownerId: p.uuid().nullable(),
    name: p.text(),
    kind: p.text().$type<CredentialKind>(),
    origin: p.text(),
    headerName: p.text().nullable(),
    /** See `valuePlace`. */
    sealedValue: p.text(),
    version: p.integer().default(1),
    createdBy: p.uuid(),
    lastUsedAt: p.datetime().nullable(),
    rotatedAt: p.datetime().defaultRaw('now()'),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A secret that the tenant stores here, to be sent to one origin. */
export class Credential extends schema.class {}
schema.setClass(Credential);

/** The place for which a credential's value is sealed. */
export function valuePlace({ tenantId, id }: { tenantId: string; id: string }): FieldPlace {
  return { tenantId, table: 'credentials', column: 'sealed_value', row: id };
}
