import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { ExtractorBusy, type DocumentExtractor } from '#domain/knowledge/ingestion/document-extractor.ts';
import { noEmbedding, type Embedding } from '#domain/knowledge/ingestion/embedder.ts';
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
  embedding: Embedding = noEmbedding,
): Promise<IngestDocumentResult> => {
  const { unitOfWork } = world;
  const { ingestDocument } = createKnowledgeActivities({ unitOfWork, extractor, embedding });
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
    expect(await run(input, hurried)).toMatchObject({ status: 'failed', failureCode: 'too_slow' });
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

/** Vectors that say how long a text is; they are remembered by the place of their passage. */
function lengthEmbedding(fail: (call: number) => void = () => {}) {
  const stored = new Map<number, number>();
  const batches: number[] = [];
  const open: number[] = [];
  const embedding: Embedding = {
    embedder: {
      id: 'length',
      dims: 1,
      maxTokens: 512,
      embedQuery: (text) => Promise.resolve(Float32Array.of(text.length)),
      embedPassages: async (texts) => {
        batches.push(texts.length);
        const { rowCount } = await world.admin.query(
          `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
        );
        open.push(rowCount ?? 0);
        fail(batches.length);
        return texts.map((text) => Float32Array.of(text.length));
      },
    },
    store: async (_em, { vectors }) => {
      for (const { position, vector } of vectors) {
        stored.set(position, vector[0]!);
      }
    },
  };
  return { embedding, stored, batches, open };
}

describe('embedding', () => {
  const many = Array.from({ length: 150 }, (_, n) => `# H${n}\n\nText ${n}.\n`).join('\n');

  it('is given all passages with their headings, in batches, while no transaction is open', async () => {
    const { input } = await upload(many);
    const { embedding, stored, batches, open } = lengthEmbedding();
    expect(await run(input, undefined, undefined, embedding)).toMatchObject({
      status: 'ready',
      chunkCount: 150,
    });
    expect(batches).toEqual([64, 64, 22]);
    expect(open).toEqual([0, 0, 0]);
    expect(stored.size).toBe(150);
    expect(stored.get(149)).toBe('H149\nText 149.'.length);
  });

  it('that breaks leaves the document unfinished; its repeat gives the same passages and vectors', async () => {
    const { input } = await upload(many);
    const broken = lengthEmbedding((call) => {
      if (call === 2) {
        throw new Error('the worker was killed');
      }
    });
    await expect(run(input, undefined, undefined, broken.embedding)).rejects.toThrow('the worker was killed');
    const before = await rowsOf(input.documentId);
    expect(before.document).toMatchObject({ status: 'processing', chunk_count: 0 });
    expect(before.chunks).toHaveLength(150);
    const repeat = lengthEmbedding();
    expect(await run(input, undefined, undefined, repeat.embedding)).toMatchObject({ status: 'ready' });
    const texts = (rows: typeof before) => rows.chunks.map(({ text }) => text);
    const after = await rowsOf(input.documentId);
    expect(texts(after)).toEqual(texts(before));
    expect(after.document).toMatchObject({ status: 'ready', chunk_count: 150 });
    expect([...broken.stored]).toEqual([...repeat.stored].slice(0, 64));
  });

  it('that gives too few vectors ends nothing', async () => {
    const { input } = await upload(many);
    const { embedding } = lengthEmbedding();
    const short = { ...embedding, embedder: { ...embedding.embedder, embedPassages: async () => [] } };
    await expect(run(input, undefined, undefined, short)).rejects.toThrow('fewer vectors');
    expect((await rowsOf(input.documentId)).document).toMatchObject({ status: 'processing' });
  });
});
