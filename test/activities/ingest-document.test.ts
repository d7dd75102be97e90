import { setTimeout as sleep } from 'node:timers/promises';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { ExtractorBusy, type DocumentExtractor } from '#domain/knowledge/ingestion/document-extractor.ts';
import { changeSpaceEmbedding } from '#domain/knowledge/embeddings/change-space-embedding.ts';
import { registerEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import type { IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { wordEmbedders, type WordEmbedders } from '#test/support/word-embedders.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { slowPage } from '#test/support/slow-page.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
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
  reader: DocumentExtractor = extractor,
  heartbeatDetails?: unknown,
): Promise<IngestDocumentResult> => {
  const { unitOfWork } = world;
  const { ingestDocument } = createKnowledgeActivities({ unitOfWork, extractor: reader });
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

/** Messages for the relays to the workflow that embeds what documents of the space lack. */
const wakesOf = async ({ tenantId, spaceId }: SpaceFixture): Promise<unknown[]> => {
  const { rows } = await world.admin.query(
    `select payload from outbox
     where workflow_id = $1 and payload ->> 'signal' = 'wake' and claimed_until <= created_at`,
    [`embeddings/${tenantId}/${spaceId}`],
  );
  return rows;
};

/** Finds a text of one passage without a process. */
const instant = (text: string): DocumentExtractor => ({
  extract: async (source) => {
    await source.read();
    return {
      mediaType: 'text/markdown',
      text,
      sections: [],
      chunks: [{ heading: null, text, start: 0, end: text.length, page: null, anchor: null }],
    };
  },
});

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
    const { input } = await upload(slowPage, 'text/html');
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
    let asked = 0;
    const busy: DocumentExtractor = {
      extract: () => {
        asked += 1;
        return Promise.reject(new ExtractorBusy());
      },
    };
    await expect(run(input, busy)).rejects.toMatchObject({
      type: 'extractor_busy',
      nonRetryable: false,
      nextRetryDelay: expect.toSatisfy((ms: number) => ms >= 750 && ms <= 1_250),
    });
    // Asked for some seconds.
    expect(asked).toBeGreaterThan(2);
    expect((await rowsOf(input.documentId)).document).toMatchObject({ status: 'processing' });
  });

  it('is read in its attempt where a place becomes free soon', async () => {
    const { input } = await upload('One.');
    let asked = 0;
    const extractor: DocumentExtractor = {
      extract: (...given) => {
        asked += 1;
        return asked < 4 ? Promise.reject(new ExtractorBusy()) : instant('One.').extract(...given);
      },
    };
    expect(await run(input, extractor)).toMatchObject({ status: 'ready' });
  });

  it('gives way to responses before it is read, and keeps the number of its lost extractions meanwhile', async () => {
    const { input } = await upload('One.');
    const uploads = new BulkTurns({
      rate: new AdaptiveRate({ perSecond: 1, pressure: () => null }),
      isContended: () => true,
    });
    const signal = new AbortController().signal;
    await uploads.take(input.tenantId, signal);
    // Three places ahead of it: three seconds, in which a heartbeat is due.
    const others = Array.from({ length: 3 }, () => uploads.take(input.tenantId, signal));
    const deps = { unitOfWork: world.unitOfWork, extractor: instant('One.'), uploads };
    const environment = new MockActivityEnvironment({ heartbeatDetails: 2, attempt: 3 });
    const beats: unknown[] = [];
    environment.on('heartbeat', (details: unknown) => beats.push(details));
    const read = environment.run(createKnowledgeActivities(deps).ingestDocument, input);
    await Promise.all(others);
    expect(beats).toContain(2);
    expect(beats).not.toContain(3);
    expect(await read).toMatchObject({ status: 'ready' });
    expect(beats).toContain(3);
    expect(beats.at(-1)).toBe(2);
  });

  it('counts no extraction as lost while the document waits for a place', async () => {
    const { input } = await upload('One.');
    const waiting: DocumentExtractor = {
      // A heartbeat is due meanwhile.
      extract: async () => {
        await sleep(2_500);
        throw new ExtractorBusy();
      },
    };
    const environment = new MockActivityEnvironment({ heartbeatDetails: 2, attempt: 3 });
    const beats: unknown[] = [];
    environment.on('heartbeat', (details: unknown) => beats.push(details));
    const deps = { unitOfWork: world.unitOfWork, extractor: waiting };
    await expect(
      environment.run(createKnowledgeActivities(deps).ingestDocument, input),
    ).rejects.toMatchObject({ type: 'extractor_busy' });
    expect(beats).toContain(2);
    expect(beats).not.toContain(3);
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

describe('embedding', () => {
  const many = Array.from({ length: 150 }, (_, n) => `# H${n}\n\nText ${n}.\n`).join('\n');

  /** All steps of the workflow, in one run of it. */
  async function ingest(input: { tenantId: string; documentId: string }, embedders: WordEmbedders) {
    const deps = { unitOfWork: world.unitOfWork, extractor, embedders };
    const activities = createKnowledgeActivities(deps);
    const step = <T extends object>(activity: (given: typeof input) => Promise<T>): Promise<T> =>
      inRun().run(activity, input);
    const read = await step(activities.extractDocument);
    if (read.status !== 'processing') {
      return read;
    }
    await step(activities.embedDocument);
    return step(activities.finishDocument);
  }

  const vectorsOf = async (documentId: string) => {
    const { rows } = await world.admin.query<{ position: number; vector: Buffer; bits: string }>(
      `select position, e.vector, v.bits from chunk_embeddings e
       join chunk_vectors v using (tenant_id, embedding_id, document_id, generation, position)
       where document_id = $1 order by position`,
      [documentId],
    );
    return rows;
  };
  const progressOf = async (documentId: string) => {
    const { rows } = await world.admin.query<{ n: number; pending: boolean }>(
      'select embedded_count as n, embedding_pending as pending from documents where id = $1',
      [documentId],
    );
    return rows[0];
  };

  it('is given all passages, in batches, while no transaction is open', async () => {
    const { input } = await upload(many);
    const open: number[] = [];
    const embedders = wordEmbedders();
    embedders.before = async () => {
      const { rowCount } = await world.admin.query(
        `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      );
      open.push(rowCount ?? 0);
    };
    expect(await ingest(input, embedders)).toMatchObject({ status: 'ready', chunkCount: 150 });
    // The first call gets the texts that every generation is calibrated with.
    expect(embedders.batches.slice(1)).toEqual([64, 64, 22]);
    expect(Math.max(...open)).toBe(0);
    expect(await vectorsOf(input.documentId)).toHaveLength(150);
    expect(await progressOf(input.documentId)).toEqual({ n: 150, pending: false });
  });

  const inRun = () => new MockActivityEnvironment({ workflowExecution: { workflowId: 'w', runId: 'r' } });

  const firstStep = (
    input: { tenantId: string; documentId: string },
    embedders: WordEmbedders,
  ): Promise<IngestDocumentResult> => {
    const deps = { unitOfWork: world.unitOfWork, extractor, embedders };
    return inRun().run(createKnowledgeActivities(deps).extractDocument, input);
  };

  it('is part of the first activity, which sends no heartbeat for a document that is read at once', async () => {
    const { input } = await upload('One.');
    const deps = { unitOfWork: world.unitOfWork, extractor: instant('One.'), embedders: wordEmbedders() };
    const environment = inRun();
    let beats = 0;
    environment.on('heartbeat', () => (beats += 1));
    const read = await environment.run(createKnowledgeActivities(deps).extractDocument, input);
    expect(read).toEqual({ status: 'ready', chunkCount: 1, failureCode: null });
    expect(beats).toBe(0);
    expect(await vectorsOf(input.documentId)).toHaveLength(1);
    expect(await progressOf(input.documentId)).toEqual({ n: 1, pending: false });
  });

  it('that fails in the first activity leaves the stored passages to steps of their own', async () => {
    const { input } = await upload(many);
    const embedders = wordEmbedders();
    embedders.before = () => {
      throw new EmbeddingFailure('rate_limited', 60_000);
    };
    expect(await firstStep(input, embedders)).toMatchObject({ status: 'processing', chunkCount: 150 });
    embedders.before = () => {};
    // As after a loss of the worker: what was lost in embedding is not tried here once more.
    expect(await firstStep(input, embedders)).toMatchObject({ status: 'processing', chunkCount: 150 });
    expect(embedders.batches).toEqual([]);
    expect(await ingest(input, embedders)).toMatchObject({ status: 'ready', chunkCount: 150 });
    expect(await progressOf(input.documentId)).toEqual({ n: 150, pending: false });
  });

  it('of more documents at once than a tenant has places for is left to the workflow of the space', async () => {
    const { space, collectionId, input } = await upload('One.');
    const inputs = [input];
    while (inputs.length < 7) {
      const given = { collectionId, filename: 'b', mediaType: 'text/markdown', content: 'One.' } as const;
      const { document } = await world.act(space, (ctx) => uploadDocument(ctx, given));
      inputs.push({ ...input, documentId: document.id });
    }
    const embedders = wordEmbedders();
    const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
    embedders.before = () => isOpen;
    const deps = { unitOfWork: world.unitOfWork, extractor: instant('One.'), embedders };
    const { extractDocument, embedSpace } = createKnowledgeActivities(deps);
    let ended = 0;
    const read = inputs.map(async (each): Promise<IngestDocumentResult> => {
      const result: IngestDocumentResult = await inRun().run(extractDocument, each);
      ended += 1;
      return result;
    });
    await expect.poll(() => ended, { timeout: 20_000 }).toBe(4);
    const wakes = await wakesOf(space);
    expect(wakes.length).toBeGreaterThan(0);
    // Those that were ready at once share it.
    expect(wakes.length).toBeLessThanOrEqual(2);
    open();
    const ready = { status: 'ready', chunkCount: 1, failureCode: null };
    expect(await Promise.all(read)).toEqual(inputs.map(() => ready));
    expect(await new MockActivityEnvironment().run(embedSpace, space)).toEqual({ state: 'idle' });
    const progress = await Promise.all(inputs.map(({ documentId }) => progressOf(documentId)));
    expect(progress).toEqual(inputs.map(() => ({ n: 1, pending: false })));
  });

  it('that was interrupted goes on where it stopped, with the same vectors as without', async () => {
    const { input } = await upload(many);
    const embedders = wordEmbedders();
    let calls = 0;
    embedders.before = () => {
      calls += 1;
      if (calls >= 3) {
        throw new Error('the worker was killed');
      }
    };
    await expect(ingest(input, embedders)).rejects.toThrow('the worker was killed');
    expect(await progressOf(input.documentId)).toEqual({ n: 64, pending: true });
    embedders.before = () => {};
    expect(await ingest(input, embedders)).toMatchObject({ status: 'ready' });
    expect(embedders.batches.slice(1)).toEqual([64, 64, 22]);
    const undisturbed = await upload(many);
    await ingest(undisturbed.input, wordEmbedders());
    expect(await vectorsOf(input.documentId)).toEqual(await vectorsOf(undisturbed.input.documentId));
  });

  it('does not repeat texts of the space that have a vector', async () => {
    const { space, collectionId, input } = await upload(many);
    const embedders = wordEmbedders();
    await ingest(input, embedders);
    const { document } = await world.act(space, (ctx) =>
      uploadDocument(ctx, {
        collectionId,
        filename: 'b',
        mediaType: 'text/markdown',
        content: `${many}\n# New\n\nNew.\n`,
      }),
    );
    embedders.batches.length = 0;
    await ingest({ ...input, documentId: document.id }, embedders);
    expect(embedders.batches).toEqual([1]);
    expect((await vectorsOf(document.id)).slice(0, 150)).toEqual(await vectorsOf(input.documentId));
  });

  it('leaves a document ready and its space to another workflow while the model does not answer', async () => {
    const { space, input } = await upload(many);
    const embedders = wordEmbedders();
    embedders.before = () => {
      throw new EmbeddingFailure('unavailable');
    };
    expect(await ingest(input, embedders)).toMatchObject({ status: 'ready' });
    expect(await wakesOf(space)).toHaveLength(1);
    embedders.before = () => {};
    const { embedSpace } = createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor,
      embedders,
    });
    expect(await new MockActivityEnvironment().run(embedSpace, space)).toEqual({ state: 'idle' });
    expect(await progressOf(input.documentId)).toEqual({ n: 150, pending: false });
  });

  it('is tried again at the time that the vendor names', async () => {
    const { input } = await upload(many);
    const embedders = wordEmbedders();
    embedders.before = () => {
      throw new EmbeddingFailure('rate_limited', 1_500);
    };
    await expect(ingest(input, embedders)).rejects.toMatchObject({
      type: 'rate_limited',
      nextRetryDelay: 1_500,
    });
  });

  it('gives passages that were replaced meanwhile no vector', async () => {
    const { input } = await upload(many);
    const embedders = wordEmbedders();
    let calls = 0;
    embedders.before = async () => {
      calls += 1;
      if (calls === 3) {
        await world.unitOfWork.inTenant(input.tenantId, (em) =>
          storePassages(em, {
            documentId: input.documentId,
            readingId: 'another',
            chunks: [{ heading: null, text: 'Other.', start: 0, end: 6, page: null, anchor: null }],
          }),
        );
      }
    };
    await ingest(input, embedders);
    const { rows } = await world.admin.query(
      'select distinct generation from chunk_vectors where document_id = $1',
      [input.documentId],
    );
    expect(rows).toEqual([]);
  });

  it('counts no vectors of a model that another one replaced meanwhile', async () => {
    const { space, input } = await upload(many);
    const embedders = wordEmbedders();
    let calls = 0;
    embedders.before = async () => {
      calls += 1;
      if (calls === 3) {
        await changeModel(space);
        expect(await progressOf(input.documentId)).toEqual({ n: 150, pending: false });
      }
      if (calls === 4) {
        throw new EmbeddingFailure('unavailable');
      }
    };
    expect(await ingest(input, embedders)).toMatchObject({ status: 'ready' });
    expect(await progressOf(input.documentId)).toEqual({ n: 150, pending: false });
  });

  /** To a second model, whose vectors are complete when it resolves. */
  async function changeModel(space: SpaceFixture): Promise<void> {
    const model = {
      alias: 'other',
      providerKind: 'openai_compatible',
      providerModel: 'other',
      baseUrl: 'https://models.example.com/v1',
      dims: 64,
      maxTokens: 512,
    } as const;
    const { model: added } = await world.act(space, (ctx) => registerEmbeddingModel(ctx, model));
    await world.act(space, (ctx) => changeSpaceEmbedding(ctx, { modelId: added.id }));
    const { embedSpace } = createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor,
      embedders: wordEmbedders(),
    });
    for (const state of ['more', 'idle']) {
      expect(await new MockActivityEnvironment().run(embedSpace, space)).toEqual({ state });
    }
  }
});
