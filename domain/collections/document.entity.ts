import { defineEntity } from '@mikro-orm/core';
import type { DocumentMediaType, DocumentStatus } from './document-status.ts';

const schema = defineEntity({
  name: 'Document',
  tableName: 'documents',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    collectionId: p.uuid(),
    filename: p.text(),
    mediaType: p.text().$type<DocumentMediaType>(),
    status: p.text().$type<DocumentStatus>().default('processing'),
    failureCode: p.text().nullable(),
    content: p.text().lazy(),
    contentHash: p.text(),
    byteSize: p.integer(),
    chunkCount: p.integer().default(0),
    metadata: p.json<Record<string, string>>().defaultRaw("'{}'"),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

export class Document extends schema.class {}
schema.setClass(Document);
