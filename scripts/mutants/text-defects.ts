import type { Defect } from './defect.ts';

const threads = 'test/adapters/thread-pool.test.ts';
const processes = 'test/adapters/child-pool.test.ts';
const hostileDocuments = 'test/adapters/hostile-documents.test.ts';

/** In processing untrusted text: limits of threads and processes, turns of tenants. */
export const textDefects: readonly Defect[] = [
  {
    name: 'a thread without a limit of time',
    file: 'adapters/process/thread-pool.ts',
    replace: [["stop.abort(new ThreadLimitExceeded('time'))", '{}']],
    test: threads,
    caughtBy: 'that takes too long is ended',
  },
  {
    name: 'a thread without a limit of memory',
    file: 'adapters/process/thread-pool.ts',
    replace: [['maxOldGenerationSizeMb: heapMb', 'maxOldGenerationSizeMb: heapMb * 100']],
    test: threads,
    caughtBy: 'needs more memory than it may have is ended',
  },
  {
    name: 'a process without a limit of time',
    file: 'adapters/process/pooled-child.ts',
    replace: [["setTimeout(() => exceeded('time'),", 'setTimeout(() => {},']],
    test: processes,
    caughtBy: 'is silent for too long',
  },
  {
    name: 'a process without a limit of memory',
    file: 'adapters/process/pooled-child.ts',
    replace: [['> this.#limits.residentMb', '> Infinity']],
    test: processes,
    caughtBy: 'takes too much memory beside its heap',
  },
  {
    name: 'one tenant in all processes',
    file: 'adapters/process/child-pool.ts',
    replace: [['processesPerKey = processes - 1', 'processesPerKey = processes']],
    test: hostileDocuments,
    caughtBy: 'does not delay another tenant',
  },
  {
    name: 'a task that waits in a process fails with the one before it',
    file: 'adapters/process/pooled-child.ts',
    replace: [['else task.resolve(null);', 'else task.reject(reason);']],
    test: processes,
    caughtBy: 'does the second in another process when the first crashes',
  },
  {
    name: 'the runtime of the model reports to its vendor',
    file: 'adapters/embeddings/disable-telemetry.ts',
    replace: [["process.env['ORT_DISABLE_TELEMETRY'] = '1';", '']],
    test: 'test/adapters/embeddings/builtin-meaning.test.ts',
    caughtBy: 'reports nothing to the vendor of its runtime',
  },
  {
    name: 'a text that crashes the runtime is tried for ever',
    file: 'adapters/embeddings/inference-pools.ts',
    replace: [["failsByText(error) ? 'malformed' : 'unavailable'", "'unavailable'"]],
    test: 'test/adapters/embeddings/builtin-meaning.test.ts',
    caughtBy: 'once more, and refuses it then',
  },
  {
    name: 'long texts on the event loop',
    file: 'domain/governance/redaction/redact-texts.ts',
    replace: [['const maxInlineLength = 16_000;', 'const maxInlineLength = Infinity;']],
    test: 'test/api/long-texts.test.ts',
    caughtBy: 'needs a thread',
  },
  {
    name: 'a long repeat that is looked through for each of its pieces',
    file: 'domain/responses/stream/continuation.ts',
    replace: [['if (length < MAX_JUDGED_EACH_TIME) return 0;', 'if (length >= 0) return 0;']],
    test: 'test/domain/responses/stream/continuation.test.ts',
    caughtBy: 'is not scanned again for each of its pieces',
  },
  {
    name: 'two purges of a tenant at once',
    file: 'domain/operations/maintenance/purge-responses.ts',
    replace: [['      await lockPurge(em, row.tenant_id);\n', '']],
    test: 'test/domain/operations/maintenance/maintenance.test.ts',
    caughtBy: 'leave none of them',
  },
  {
    name: 'partitions that wait for readers',
    file: 'domain/foundation/persistence/change-partitions.ts',
    replace: [['          await inside.execute(`set local lock_timeout = ${lockTimeoutMs}`);\n', '']],
    test: 'test/domain/operations/maintenance/partition-locks.test.ts',
    caughtBy: 'does not block writes to the log while a reader blocks it',
  },
];
