import type { IngestDocumentInput, IngestDocumentResult } from '#workflows/ingest-document/messages.ts';
import { extractDocument, type ExtractionDependencies } from './extract-document.ts';
import { finishDocument } from './finish-document.ts';

/** The one step of workflows that began before extraction and embedding became steps of their own. */
export async function ingestDocument(
  deps: ExtractionDependencies,
  input: IngestDocumentInput,
): Promise<IngestDocumentResult> {
  const { result } = await extractDocument(deps, input);
  return result.status === 'processing' ? finishDocument(deps, input) : result;
}
