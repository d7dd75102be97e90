import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { extraction } from '../shared/activity-options.ts';
import type { IngestDocumentInput, IngestDocumentResult } from './messages.ts';

const activities = proxyActivities<Activities>(extraction);

/** Makes an uploaded document searchable. */
export async function ingestDocument(input: IngestDocumentInput): Promise<IngestDocumentResult> {
  setCurrentDetails('Extracting and cutting the text.');
  const result = await activities.ingestDocument.executeWithOptions({ summary: 'extract and cut' }, [input]);
  setCurrentDetails(describe(result));
  return result;
}

function describe(result: IngestDocumentResult): string {
  switch (result.status) {
    case 'ready':
      return `Ready with ${result.chunkCount} passages.`;
    case 'failed':
      return `Failed: ${result.failureCode ?? 'unknown'}.`;
    default:
      return `The document is ${result.status}.`;
  }
}
