import { defineEntity } from '@mikro-orm/core';
import type { FieldPlace } from '#domain/foundation/secrets/field-place.ts';
import type { ClientAuthMethod } from './authorization-servers.ts';

const schema = defineEntity({
  name: 'AuthorizationClient',
  tableName: 'authorization_clients',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    issuer: p.text(),
    redirectUri: p.text(),
    kind: p.text().$type<'metadata_document' | 'dynamic'>(),
    clientId: p.text(),
    authMethod: p.text().$type<ClientAuthMethod>().nullable(),
    /** See `secretPlace`. */
    secret: p.text().nullable(),
    secretExpiresAt: p.datetime().nullable(),
    /** The scopes to which a registration may limit it; empty: none; null: no limit is known. */
    scope: p.text().nullable(),
    rejectedAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

/** This platform as a client of an authorization server, by issuer and redirect address. */
export class AuthorizationClient extends schema.class {}
schema.setClass(AuthorizationClient);

export function secretPlace({ tenantId, id }: { tenantId: string; id: string }): FieldPlace {
  return { tenantId, table: 'authorization_clients', column: 'secret', row: id };
}
