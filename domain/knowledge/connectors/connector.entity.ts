import { defineEntity } from '@mikro-orm/core';
import { canBecome, type ConnectorStatus } from './connector-status.ts';
import type { SyncErrorCode } from './sync-status.ts';
import type { SyncSchedule } from './sync-schedule.ts';

const schema = defineEntity({
  name: 'Connector',
  tableName: 'connectors',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    collectionId: p.uuid(),
    providerSlug: p.text(),
    /** For whom it acts: the creator. */
    principalId: p.uuid(),
    credentialId: p.uuid().nullable(),
    /** The client with which its account is connected; null: it is read without a connection. */
    clientCredentialId: p.uuid().nullable(),
    scopeConfig: p.json<unknown>(),
    /** The connected tool server that the scope names; computed by the database. */
    serverId: p
      .uuid()
      .nullable()
      .generated(`(case when provider_slug = 'mcp' then (scope_config ->> 'server_id')::uuid end) stored`),
    status: p.text().$type<ConnectorStatus>().default('pending'),
    /** Why it is `auth_required` or in `error`. */
    statusReason: p.text().$type<SyncErrorCode>().nullable(),
    syncSchedule: p.json<SyncSchedule>().nullable(),
    /** Where the next listing of changes begins; null: it lists everything. */
    checkpoint: p.text().nullable(),
    /** Number of the last listing that was begun; documents carry that in which they were seen last. */
    listing: p.integer().default(0),
    /** Consecutive runs that failed, and since when. */
    failedRuns: p.integer().default(0),
    failingSince: p.datetime().nullable(),
    lastSyncedAt: p.datetime().nullable(),
    /** When people were last notified that no run has succeeded for three intervals. */
    staleNotifiedAt: p.datetime().nullable(),
    /** When the sweep takes the connector's actor to be lost; null: nothing is due. */
    dueAt: p.datetime().nullable(),
    /** While `deleting`: its documents stay as documents of the collection. */
    retainDocuments: p.boolean().default(false),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A source of documents of one collection. */
export class Connector extends schema.class {
  become(status: ConnectorStatus, reason: SyncErrorCode | null = null): void {
    if (!canBecome(this.status, status)) {
      throw new Error(`A ${this.status} connector cannot become ${status}.`);
    }
    this.status = status;
    this.statusReason = reason;
    this.updatedAt = new Date();
  }
}
schema.setClass(Connector);
