import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { extraction } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import type { IngestDocumentEnd, IngestDocumentInput, IngestDocumentResult } from './messages.ts';

const activities = proxyActivities<Activities>(extraction);

/** Extracts an uploaded document and makes it searchable. */
export async function ingestDocument(input: IngestDocumentInput): Promise<IngestDocumentEnd> {
  setCurrentDetails('Extracting and cutting the text.');
  const result = await activities.ingestDocument.executeWithOptions({ summary: 'extract and cut' }, [input]);
  setCurrentDetails(describe(result));
  const { status, failureCode: reason, chunkCount } = result;
  return conclude({ status, reason, chunkCount });
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
