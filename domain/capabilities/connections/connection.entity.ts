import { defineEntity } from '@mikro-orm/core';
import type { FieldPlace } from '#domain/foundation/secrets/field-place.ts';
import type { AuthorizationTarget } from './authorization-servers.ts';
import type { ConnectionStatus } from './connection-status.ts';

const schema = defineEntity({
  name: 'Connection',
  tableName: 'mcp_connections',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    serverId: p.uuid().nullable(),
    connectorId: p.uuid().nullable(),
    spaceId: p.uuid(),
    ownerId: p.uuid().nullable(),
    connectedBy: p.uuid(),
    status: p.text().$type<ConnectionStatus>(),
    issuer: p.text(),
    /** Resource indicator of a tool server; of a source its origin. */
    resource: p.text().nullable(),
    requestedScope: p.text().nullable(),
    grantedScope: p.text().nullable(),
    requiredScope: p.text().nullable(),
    target: p.json<AuthorizationTarget>(),
    clientId: p.uuid().nullable(),
    clientCredentialId: p.uuid().nullable(),
    /** See `tokensPlace`. */
    tokens: p.text().nullable(),
    /** Hash of each tool that the account is listed, by name; see listed-tools.ts. */
    listedTools: p.json<Record<string, string>>().nullable().lazy(),
    expiresAt: p.datetime().nullable(),
    tokenLifetime: p.integer().nullable(),
    generation: p.integer().default(1),
    leaseNonce: p.uuid().nullable(),
    leaseUntil: p.datetime().nullable(),
    refreshFailures: p.integer().default(0),
    refreshAfter: p.datetime().nullable(),
    withdrawnAt: p.datetime().nullable(),
    revokeAt: p.datetime().nullable(),
    revocations: p.integer().default(0),
    connectedAt: p.datetime().defaultRaw('now()'),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** The account at a tool server, or at a source, that a principal, or a space, has authorized this platform to use. */
export class Connection extends schema.class {}
schema.setClass(Connection);

/** The place for which the tokens are sealed. */
export function tokensPlace({ tenantId, id }: { tenantId: string; id: string }): FieldPlace {
  return { tenantId, table: 'mcp_connections', column: 'tokens', row: id };
}
