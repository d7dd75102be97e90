import { defineEntity } from '@mikro-orm/core';
import type { SyncError, SyncErrorCode, SyncMode, SyncStatus, SyncTrigger } from './sync-status.ts';

const schema = defineEntity({
  name: 'SyncRun',
  tableName: 'sync_runs',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    connectorId: p.uuid(),
    status: p.text().$type<SyncStatus>().default('queued'),
    trigger: p.text().$type<SyncTrigger>(),
    mode: p.text().$type<SyncMode>(),
    /** Applies deletions that the guard would hold back. */
    confirmDeletions: p.boolean().default(false),
    cancelRequested: p.boolean().default(false),
    /** Number of its listing; see `Connector.listing`. */
    listing: p.integer().default(0),
    /** Cursor of the page of groups to read next; null: the first one, or all were read. */
    groupPosition: p.text().nullable(),
    groupPages: p.integer().default(0),
    /** Cursor of the page to read next; null: the first one, or the listing is over. */
    position: p.text().nullable(),
    /** Pages stored; a page is stored once for each number. */
    pages: p.integer().default(0),
    /** Documents that were brought by the page whose end is not stored. */
    pageRecords: p.integer().default(0),
    isListed: p.boolean().default(false),
    isTruncated: p.boolean().default(false),
    /** The listing was begun once more after its cursor had expired. */
    isRestarted: p.boolean().default(false),
    listsChanges: p.boolean().default(false),
    cursorFrom: p.text().nullable(),
    /** Becomes the connector's checkpoint when the run ends. */
    cursorTo: p.text().nullable(),
    total: p.integer().nullable(),
    recordsFetched: p.integer().default(0),
    added: p.integer().default(0),
    updated: p.integer().default(0),
    unchanged: p.integer().default(0),
    skipped: p.integer().default(0),
    failed: p.integer().default(0),
    deleted: p.integer().default(0),
    deletesHeld: p.integer().default(0),
    bytes: p.bigint('number').default(0),
    rateLimitedMs: p.bigint('number').default(0),
    attempts: p.integer().default(0),
    errors: p.json<SyncError[]>().defaultRaw("'[]'"),
    errorCode: p.text().$type<SyncErrorCode>().nullable(),
    /** One sentence of the platform. */
    errorText: p.text().nullable(),
    createdBy: p.uuid().nullable(),
    startedAt: p.datetime().nullable(),
    completedAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** One synchronisation of a connector. */
export class SyncRun extends schema.class {
  /** Its errors are shown without the references of their documents. Not stored. */
  hidesDocuments?: boolean;
}
schema.setClass(SyncRun);
