import { defineEntity } from '@mikro-orm/core';
import type { SourceDocumentState } from './sync-status.ts';

const schema = defineEntity({
  name: 'SourceDocument',
  tableName: 'source_documents',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    connectorId: p.uuid(),
    /** See `ListedDocument`. */
    ref: p.text(),
    /** Null: nothing of it is stored. */
    documentId: p.uuid().nullable(),
    name: p.text(),
    url: p.text().nullable(),
    version: p.text().nullable(),
    contentHash: p.text().nullable(),
    byteSize: p.bigint('number').nullable(),
    state: p.text().$type<SourceDocumentState>(),
    /** Why it is skipped or failed. */
    errorCode: p.text().nullable(),
    /** Number of the listing that it was seen in last. */
    listing: p.integer(),
    /** The source says that it is deleted there; the guard may hold that back. */
    isGone: p.boolean().default(false),
    /** Number of the listing that lacked it, after which the source was asked for it; answers of others count no more. */
    askedListing: p.integer().nullable(),
    /** What the source answered; null: nothing. */
    wasThere: p.boolean().nullable(),
    /** Fetches in a row that failed. */
    failures: p.smallint().default(0),
    /** It failed, and can be fetched again without another listing of it. */
    canRepeat: p.boolean().default(false),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

/** A document as a connector knows it at its source. */
export class SourceDocument extends schema.class {}
schema.setClass(SourceDocument);
