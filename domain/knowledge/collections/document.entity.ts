import { defineEntity } from '@mikro-orm/core';
import type { DocumentFailureCode, DocumentMediaType, DocumentStatus } from './document-status.ts';

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
    failureCode: p.text().$type<DocumentFailureCode>().nullable(),
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

export class Document extends schema.class {
  /** @param chunkCount passages that the text was cut into. */
  markReady(chunkCount: number): void {
    this.finish('ready');
    this.chunkCount = chunkCount;
  }

  markFailed(code: DocumentFailureCode): void {
    this.finish('failed');
    this.failureCode = code;
  }

  /** Back to where it began; its workflow is started again. */
  retry(): void {
    if (this.status !== 'failed') {
      throw new Error(`A ${this.status} document cannot be retried.`);
    }
    this.status = 'processing';
    this.failureCode = null;
    this.updatedAt = new Date();
  }

  // Not a `#` method: the ORM makes entities without their constructor, and those lack it.
  private finish(status: DocumentStatus): void {
    if (this.status !== 'processing') {
      throw new Error(`A ${this.status} document cannot become ${status}.`);
    }
    this.status = status;
    this.updatedAt = new Date();
  }
}
schema.setClass(Document);
