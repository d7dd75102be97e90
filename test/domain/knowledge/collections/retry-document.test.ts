import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { retryDocument } from '#domain/knowledge/collections/retry-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { reconcileDocuments } from '#domain/operations/maintenance/reconcile-documents.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { inspectorSaying, sweepOnce } from '../../../support/sweeps.ts';

let engine: Engine;
let collectionId: string;

beforeAll(async () => {
  engine = await openEngine();
  collectionId = (await engine.act((ctx) => createCollection(ctx, { name: 'Harbours' }))).collection.id;
});
afterAll(() => engine.stop());

const upload = async (): Promise<string> => {
  const content = { filename: 'a.txt', mediaType: 'text/plain' as const, content: 'The beacon is blue.' };
  return (await engine.act((ctx) => uploadDocument(ctx, { collectionId, ...content }))).document.id;
};
const finish = (documentId: string, outcome: Parameters<typeof finishIngestion>[2]) =>
  engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) =>
    finishIngestion(em, documentId, outcome),
  );
const failed = async (): Promise<string> => {
  const id = await upload();
  await finish(id, 'extraction_failed');
  await engine.admin.query('delete from outbox');
  return id;
};
const retry = (documentId: string) => engine.act((ctx) => retryDocument(ctx, { collectionId, documentId }));
const statusOf = async (id: string) => {
  const { rows } = await engine.admin.query('select status, failure_code from documents where id = $1', [id]);
  return rows[0] as { status: string; failure_code: string | null };
};

describe('a failed document', () => {
  it('is read again under its own id, and can become ready', async () => {
    const id = await failed();
    engine.dispatches.length = 0;
    expect(await retry(id)).toMatchObject({ id, status: 'processing', failureCode: null });
    expect(engine.dispatches).toMatchObject([
      {
        kind: 'signal',
        workflowType: 'ingestDocument',
        workflowId: `document/${engine.world.tenantId}/${id}`,
        payload: { signal: 'retried', args: [], start: { documentId: id } },
      },
    ]);
    const { rows } = await engine.admin.query(
      `select metadata ->> 'document_id' as id from events where event_type = 'collection.documents_retried'`,
    );
    expect(rows).toEqual([{ id }]);
    const chunk = { heading: null, text: 'The beacon is blue.', start: 0, end: 19, page: null, anchor: null };
    const { unitOfWork } = engine.database;
    await unitOfWork.inTenant(engine.world.tenantId, (em) =>
      storePassages(em, { documentId: id, readingId: 'two', chunks: [chunk] }),
    );
    await finish(id, null);
    expect(await statusOf(id)).toEqual({ status: 'ready', failure_code: null });
  });

  it('is not failed again by the sweep while its new start is pending and Temporal knows its old run', async () => {
    const id = await failed();
    await retry(id);
    await engine.admin.query(`update documents set created_at = now() - interval '1 hour' where id = $1`, [
      id,
    ]);
    const deps = { ...engine.database, inspector: inspectorSaying('closed') };
    expect(await sweepOnce(reconcileDocuments, deps)).toMatchObject({ starts: [], failed: 0 });
    expect(await statusOf(id)).toMatchObject({ status: 'processing' });
    await engine.admin.query('delete from outbox');
    await sweepOnce(reconcileDocuments, deps);
    expect(await statusOf(id)).toEqual({ status: 'failed', failure_code: 'extraction_failed' });
  });

  it('that fails and is retried while the sweep asks for its workflow is not failed by what Temporal says of that', async () => {
    const id = await upload();
    await engine.admin.query(`delete from outbox`);
    await engine.admin.query(`update documents set created_at = now() - interval '1 hour' where id = $1`, [
      id,
    ]);
    const inspector = {
      ...inspectorSaying('closed'),
      stateOf: async (workflowId: string) => {
        if (workflowId.endsWith(id)) {
          await finish(id, 'too_slow');
          await retry(id);
          // Sent to Temporal.
          await engine.admin.query('delete from outbox');
        }
        return 'closed' as const;
      },
    };
    await sweepOnce(reconcileDocuments, { ...engine.database, inspector });
    expect(await statusOf(id)).toEqual({ status: 'processing', failure_code: null });
  });
});

describe('any other document', () => {
  it.each(['processing', 'ready'])('that is %s is not retried', async (status) => {
    const id = await upload();
    await engine.admin.query('update documents set status = $2 where id = $1', [id, status]);
    await expect(retry(id)).rejects.toMatchObject({ code: 'invalid_state' });
    expect(await statusOf(id)).toMatchObject({ status });
  });
});
