import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { ExtractorBusy, type DocumentExtractor } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
}, 60_000);
afterAll(async () => world.stop());

async function upload(content: string, mediaType: DocumentMediaType = 'text/markdown') {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  const { document } = await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId: collection.id, filename: 'a', mediaType, content }),
  );
  return { space, collectionId: collection.id, input: { tenantId: space.tenantId, documentId: document.id } };
}

const run = (
  input: { tenantId: string; documentId: string },
  extractor: DocumentExtractor = createTextExtractor(),
  heartbeatDetails?: unknown,
): Promise<IngestDocumentResult> => {
  const { ingestDocument } = createKnowledgeActivities({ unitOfWork: world.unitOfWork, extractor });
  return new MockActivityEnvironment({ heartbeatDetails }).run(ingestDocument, input);
};

const rowsOf = async (documentId: string) => {
  const chunks = await world.admin.query(
    'select position, heading, text, start_offset, end_offset, xmin from chunks where document_id = $1 order by position',
    [documentId],
  );
  const document = await world.admin.query(
    'select status, failure_code, chunk_count, xmin from documents where id = $1',
    [documentId],
  );
  return { chunks: chunks.rows as { text: string }[], document: document.rows[0] as Record<string, unknown> };
};

const broken: DocumentExtractor = { extract: () => Promise.reject(new Error('the disk is gone')) };

describe('ingestDocument', () => {
  it('makes the document ready with its passages', async () => {
    const { input } = await upload('# A\n\nOne.\n\n# B\n\nTwo.\n');
    expect(await run(input)).toEqual({ status: 'ready', chunkCount: 2, failureCode: null });
    const { chunks, document } = await rowsOf(input.documentId);
    expect(chunks).toMatchObject([
      { position: 0, heading: 'A', text: 'One.' },
      { position: 1, heading: 'B', text: 'Two.' },
    ]);
    expect(document).toMatchObject({ status: 'ready', chunk_count: 2, failure_code: null });
  });

  it('run twice, also at once, leaves the same rows', async () => {
    const { input } = await upload('# A\n\nOne.\n\n# B\n\nTwo.\n');
    const [first, second] = await Promise.all([run(input), run(input)]);
    expect(second).toEqual(first);
    const rows = await rowsOf(input.documentId);
    expect(await run(input)).toEqual(first);
    expect(await rowsOf(input.documentId)).toEqual(rows);
  });

  it('ends a document without text as failed', async () => {
    const { input } = await upload('<html><body><script>1</script></body></html>', 'text/html');
    expect(await run(input)).toEqual({ status: 'failed', chunkCount: 0, failureCode: 'empty_document' });
    expect((await rowsOf(input.documentId)).document).toMatchObject({ status: 'failed' });
  });

  it('ends a document that cannot be extracted in time as failed', async () => {
    const { input } = await upload('<div>'.repeat(5_000), 'text/html');
    const hurried = createTextExtractor({ timeoutMs: 500, heapMb: 256 });
    expect(await run(input, hurried)).toMatchObject({ status: 'failed', failureCode: 'extraction_failed' });
  });

  it('gives up a document whose extraction ended with its worker three times', async () => {
    const { input } = await upload('Text.');
    expect(await run(input, broken, 3)).toMatchObject({ status: 'failed', failureCode: 'extraction_failed' });
  });

  it('throws errors that the document did not cause, so that it is retried, and changes nothing', async () => {
    const { input } = await upload('Text.');
    await expect(run(input, broken, 2)).rejects.toThrow('the disk is gone');
    expect((await rowsOf(input.documentId)).document).toMatchObject({ status: 'processing' });
  });

  it('gives its slot to others, with a time for the retry, while enough documents of its tenant are pending', async () => {
    const { input } = await upload('Text.');
    const busy: DocumentExtractor = { extract: () => Promise.reject(new ExtractorBusy()) };
    await expect(run(input, busy)).rejects.toMatchObject({
      type: 'extractor_busy',
      nonRetryable: false,
      nextRetryDelay: expect.toSatisfy((ms: number) => ms >= 750 && ms <= 1_250),
    });
    expect((await rowsOf(input.documentId)).document).toMatchObject({ status: 'processing' });
  });

  it('finds nothing to do for a document that was deleted or never was in the tenant', async () => {
    const { space, collectionId, input } = await upload('Text.');
    const stranger = { tenantId: (await world.addSpace()).tenantId, documentId: input.documentId };
    expect(await run(stranger)).toMatchObject({ status: 'gone' });
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId: input.documentId }));
    expect(await run(input)).toMatchObject({ status: 'gone' });
    expect(await run({ ...input, documentId: newId() })).toMatchObject({ status: 'gone' });
  });

  it('stores a mebibyte of text', async () => {
    const { input } = await upload(
      'Every sentence is short and has a few words. '.repeat(23_000),
      'text/plain',
    );
    const result = await run(input);
    expect(result.status).toBe('ready');
    expect((await rowsOf(input.documentId)).chunks).toHaveLength(result.chunkCount);
  });
});
