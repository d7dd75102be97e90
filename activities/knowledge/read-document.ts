import { Context } from '@temporalio/activity';
import { FairSemaphore, TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { keepAlive } from '../keep-alive.ts';
import { embedDocument, embeddingBeatMs, type EmbeddingDependencies } from './embed-document.ts';
import { extractDocument, type ExtractionDependencies } from './extract-document.ts';
import { finishDocument } from './finish-document.ts';

export interface ReadingDependencies extends ExtractionDependencies, EmbeddingDependencies {
  /** Documents that are embedded at once where they are read. */
  places: FairSemaphore;
}

/**
 * Of the slots of the queue, each tenant's documents hold few while they begin to be embedded; those that take longer
 * hold one in each of their further steps, which other tenants' tasks go between. Nothing waits for a place: the
 * workflow of the space embeds what finds none, for far less work of Temporal.
 */
export const embeddingPlaces = (): FairSemaphore =>
  new FairSemaphore({ slots: 6, slotsPerKey: 3, waitersPerKey: 0, waitMs: 0 });

/**
 * All steps of a document in one activity, as each activity costs the Temporal server that all tenants share more than
 * a short document costs to extract. What takes longer, or does not go well, is left to steps of its own: the document
 * is `processing` then, with its passages stored.
 */
export async function readDocument(
  deps: ReadingDependencies,
  input: IngestDocumentInput,
): Promise<IngestDocumentResult> {
  const { result, isStoredNow } = await extractDocument(deps, input);
  // An attempt that stored passages and was lost may have been lost by embedding them, which has limits of its own.
  return result.status === 'processing' && isStoredNow && (await isEmbedded(deps, input))
    ? finishDocument(deps, input)
    : result;
}

/** Whether nothing is left to do for the vectors, other than by the workflow of the space. */
async function isEmbedded(deps: ReadingDependencies, input: IngestDocumentInput): Promise<boolean> {
  const embed = () => keepAlive(({ signal }) => embedDocument(deps, input, signal), embeddingBeatMs);
  try {
    const { state } = await deps.places.run(input.tenantId, undefined, embed);
    return state !== 'more';
  } catch (error) {
    if (error instanceof TooBusy) {
      return true;
    }
    if (Context.current().cancellationSignal.aborted) {
      throw error;
    }
    // Fails again in a step of its own, whose retries are those of an embedding.
    return false;
  }
}
