import { defineEntity } from '@mikro-orm/core';
import type {
  DocumentFailureCode,
  EmbeddingFault,
  DocumentMediaType,
  DocumentStatus,
} from './document-status.ts';

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
    /** Key of the bytes in the store. */
    contentKey: p.text(),
    contentHash: p.text(),
    byteSize: p.integer(),
    chunkCount: p.integer().default(0),
    /** The generation whose passages are searched; 0: none yet. */
    generation: p.integer().default(0),
    /** Since when passages of other generations wait for the purge. */
    staleSince: p.datetime().nullable(),
    /** The run of the workflow that stored the current passages. */
    ingestedBy: p.text().nullable(),
    /** Passages that have a vector of the active embedding generation. */
    embeddedCount: p.integer().default(0),
    /** Why the model embeds it only in part: its other passages are found by keyword. */
    embeddingError: p.text().$type<EmbeddingFault>().nullable(),
    /** The active embedding generation lacks vectors of the document. */
    embeddingPending: p.boolean().default(false),
    metadata: p.json<Record<string, string>>().defaultRaw("'{}'"),
    /** Who may read it at its source; null: the source has no such rights. See `listedColumns`. */
    sourceReaders: p.array().nullable(),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  }),
});

export class Document extends schema.class {
  /** The generation that a reading writes while the document is `processing`. */
  nextGeneration(): number {
    return this.generation + 1;
  }

  /**
   * From now on, searches use the passages of the next generation instead of the last.
   * @param now the database's time, to which the purge compares
   */
  replacePassages(readingId: string, chunkCount: number, now: Date): void {
    if (this.generation > 0) {
      this.staleSince = now;
    }
    this.generation = this.nextGeneration();
    this.ingestedBy = readingId;
    this.chunkCount = chunkCount;
    this.embeddedCount = 0;
    this.embeddingPending = true;
    this.embeddingError = null;
  }

  markReady(): void {
    this.finish('ready');
  }

  /**
   * Passages of an earlier generation stay searchable; the purge deletes those of the failed reading.
   * @param now the database's time, to which the purge compares
   */
  markFailed(code: DocumentFailureCode, now: Date): void {
    this.finish('failed');
    this.staleSince = now;
    this.failureCode = code;
  }

  /** Back to `processing`; the caller starts the workflow again. */
  retry(): void {
    if (this.status !== 'failed') {
      throw new Error(`A ${this.status} document cannot be retried.`);
    }
    this.status = 'processing';
    this.failureCode = null;
    this.updatedAt = new Date();
  }

  // Not a `#` method: the ORM creates entities without their constructor, and those lack it.
  private finish(status: DocumentStatus): void {
    if (this.status !== 'processing') {
      throw new Error(`A ${this.status} document cannot become ${status}.`);
    }
    this.status = status;
    this.updatedAt = new Date();
  }
}
schema.setClass(Document);
