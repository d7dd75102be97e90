import { ApplicationFailure, patched, sleep } from '@temporalio/workflow';

/** The outcome of a workflow's work, as codes only. */
export interface Conclusion {
  status: string;
  /** A code, where there is one. */
  reason: string | null;
}

/** A cancel goes through the outbox, and may arrive after the result. */
const defaultPatience = '5 minutes';

/**
 * Closes a workflow with the status of its work, for operators' filters: failed work fails it with the code of its
 * reason, cancelled work cancels it, everything else is its result.
 * @param patience how long the cancel of cancelled work is waited for
 */
export async function conclude<T extends Conclusion>(
  end: T,
  patience: `${number} ${'seconds' | 'minutes'}` = defaultPatience,
): Promise<T> {
  const differs = end.status === 'failed' || end.status === 'cancelled';
  if (!differs || !patched('ends-as-its-work')) {
    return end;
  }
  if (end.status === 'failed') {
    const code = end.reason ?? 'unknown';
    throw ApplicationFailure.create({ type: code, message: code, nonRetryable: true });
  }
  // Waits for the cancel, which ends the sleep at once.
  await sleep(patience);
  return end;
}
