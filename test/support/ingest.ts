import { MockActivityEnvironment } from '@temporalio/testing';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import { extractor } from './extractor.ts';

/** All steps of a document's workflow, without Temporal. */
export async function ingest(
  { unitOfWork, embedders }: { unitOfWork: UnitOfWork; embedders?: Embedders },
  input: { tenantId: string; documentId: string },
): Promise<void> {
  const activities = createKnowledgeActivities({
    unitOfWork,
    extractor,
    ...(embedders === undefined ? {} : { embedders }),
  });
  const environment = () =>
    new MockActivityEnvironment({ workflowExecution: { workflowId: 'w', runId: 'r' } });
  const { status }: IngestDocumentResult = await environment().run(activities.extractDocument, input);
  if (status === 'processing') {
    await environment().run(activities.embedDocument, input);
    await environment().run(activities.finishDocument, input);
  }
}
