import type { LongTextRedactor, RedactionOutcome } from '#domain/governance/redaction/redact-texts.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { ThreadPool, type ThreadLimits } from '../process/thread-pool.ts';
import type { ThreadTask } from './redaction-thread.ts';

/** For the gateway, whose callers wait: a quick refusal that they can retry is better than a long wait. */
export const gatewayRedaction: ThreadLimits = {
  timeoutMs: 20_000,
  heapMb: 256,
  waitersPerKey: 16,
  waitMs: 10_000,
};
/** For turns and tool results, which can wait longer. */
export const workerRedaction: ThreadLimits = { ...gatewayRedaction, waitersPerKey: 200, waitMs: 60_000 };

export function createRedactionThreads(secrets: Secrets, limits: ThreadLimits): LongTextRedactor {
  const pool = new ThreadPool<ThreadTask, RedactionOutcome>(
    new URL('./redaction-thread.ts', import.meta.url),
    limits,
  );
  const key = secrets.macKey('pii-token');
  return { redact: (tenantId, task) => pool.run(tenantId, () => ({ key, task })) };
}
