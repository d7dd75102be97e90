import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { enqueueOnce } from '#domain/foundation/durable/outbox.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';

/** Makes a document with stored passages ready; the workflow of its space embeds what could not be embedded. */
export async function finishDocument(
  { unitOfWork }: { unitOfWork: UnitOfWork },
  { tenantId, documentId }: IngestDocumentInput,
): Promise<IngestDocumentResult> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    const state = await finishIngestion(em, documentId, null);
    const document = await em.findOne(Document, { id: documentId });
    if (document?.status === 'ready' && document.embeddingPending) {
      const { spaceId } = await em.findOneOrFail(Collection, { id: document.collectionId });
      // Also where that workflow runs: it may have passed the place of this document, which was not ready then.
      await enqueueOnce(em, signalWithStart('embedSpace', { tenantId, spaceId }, 'wake', []));
    }
    return state;
  });
}
