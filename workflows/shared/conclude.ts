import { ApplicationFailure, patched, sleep } from '@temporalio/workflow';

/** What a workflow's work came to, in codes alone. */
export interface Conclusion {
  status: string;
  /** A code, where there is one. */
  reason: string | null;
}

/** A cancel goes through the outbox, and may come behind the news of it. */
const cancelPatience = '5 minutes';

/**
 * Ends a workflow as its work has ended, so that operators find it by its status: what failed fails with the code of its
 * reason, what was cancelled is cancelled, everything else is the result.
 */
export async function conclude<T extends Conclusion>(end: T): Promise<T> {
  const differs = end.status === 'failed' || end.status === 'cancelled';
  if (!differs || !patched('ends-as-its-work')) {
    return end;
  }
  if (end.status === 'failed') {
    const code = end.reason ?? 'unknown';
    throw ApplicationFailure.create({ type: code, message: code, nonRetryable: true });
  }
  // Ends by the cancel, at once where it has come.
  await sleep(cancelPatience);
  return end;
}
