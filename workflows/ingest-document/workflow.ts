import {
  ActivityFailure,
  continueAsNew,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { closing, documentEmbedding, extraction } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import {
  retriedSignal,
  type IngestDocumentEnd,
  type IngestDocumentInput,
  type IngestDocumentResult,
} from './messages.ts';

const extracting = proxyActivities<Activities>(extraction);
const embedding = proxyActivities<Activities>(documentEmbedding);
const finishing = proxyActivities<Activities>(closing);

/**
 * Extracts an uploaded document, makes it searchable by keyword, and then by meaning. A document that has failed may be
 * retried before this workflow has closed: then the next run reads it.
 */
export async function ingestDocument(input: IngestDocumentInput): Promise<IngestDocumentEnd> {
  let isRetried = false;
  setHandler(retriedSignal, () => {
    isRetried = true;
  });
  // What was retried before the reading begins is what it reads: such as by the signal of this start.
  await Promise.resolve();
  isRetried = false;
  setCurrentDetails('Reading the document.');
  const result = patched('embeds')
    ? await inSteps(input)
    : await extracting.ingestDocument.executeWithOptions({ summary: 'extract and cut' }, [input]);
  setCurrentDetails(describe(result));
  if (isRetried) {
    await continueAsNew<typeof ingestDocument>(input);
  }
  const { status, failureCode: reason, chunkCount } = result;
  return conclude({ status, reason, chunkCount });
}

/** The first activity does everything for most documents; the others are for what is left. */
async function inSteps(input: IngestDocumentInput): Promise<IngestDocumentResult> {
  const read = await extracting.extractDocument.executeWithOptions({ summary: 'extract and embed' }, [input]);
  if (read.status !== 'processing') {
    return read;
  }
  setCurrentDetails(`Embedding ${read.chunkCount} passages, which are found by keyword already.`);
  await embed(input);
  return finishing.finishDocument.executeWithOptions({ summary: 'finish' }, [input]);
}

/** What cannot be embedded now is left to the workflow of the space. */
async function embed(input: IngestDocumentInput): Promise<void> {
  try {
    for (let slice = 1; ; slice += 1) {
      const { state } = await embedding.embedDocument.executeWithOptions(
        { summary: `embed, slice ${slice}` },
        [input],
      );
      if (state !== 'more') {
        return;
      }
    }
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) {
      throw error;
    }
  }
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
