import type { Defect } from './defect.ts';

const rounds = 'test/activities/run-round.test.ts';
const inspector = 'test/temporal/inspector.test.ts';
const partitions = 'test/domain/operations/maintenance/partition-locks.test.ts';
const responses = 'test/workflows/generate-response.test.ts';

/** In sweeps, and in the state that Temporal shows. */
export const upkeepDefects: readonly Defect[] = [
  {
    name: 'a sweep that ignores its cancellation',
    file: 'activities/maintenance/run-round.ts',
    replace: [['performance.now() < endsAt && !cancellationSignal.aborted', 'performance.now() < endsAt']],
    test: rounds,
    caughtBy: 'stops between two batches when it is cancelled',
  },
  {
    name: 'a round without a budget',
    file: 'activities/maintenance/run-round.ts',
    replace: [['performance.now() < endsAt && !cancellationSignal.aborted', '!cancellationSignal.aborted']],
    test: rounds,
    caughtBy: 'ends when its time is up',
  },
  {
    name: 'a sweep whose retry begins at the start',
    file: 'activities/maintenance/run-round.ts',
    replace: [['let place = placeOf(info.heartbeatDetails) ?? begin;', 'let place = begin;']],
    test: rounds,
    caughtBy: 'continues at the position in the heartbeat of the lost attempt',
  },
  {
    name: 'a sweep of orphans that begins at the start each time',
    file: 'domain/operations/maintenance/purge-orphans.ts',
    replace: [["round.place ?? [nilUuid, '']", "[nilUuid, '']"]],
    test: 'test/domain/operations/maintenance/purge-orphans.test.ts',
    caughtBy: 'ends between two pages when its time is up',
  },
  {
    name: 'a change of partitions that waits for a reader with all writers behind',
    file: 'domain/foundation/persistence/change-partitions.ts',
    replace: [['const lockTimeoutMs = 50;', 'const lockTimeoutMs = 60_000;']],
    test: partitions,
    caughtBy: 'does not block writes to the log while a reader blocks it',
  },
  {
    name: 'a day of streams that is made under the lock of all of them',
    file: 'domain/operations/schema/functions/stream-partitions.sql',
    replace: [
      [
        "  execute format('create table public.%I (like",
        "  lock table public.stream_runs;\n  execute format('create table public.%I (like",
      ],
    ],
    test: partitions,
    caughtBy: 'waits for a reader without blocking a writer',
  },
  {
    name: 'a foreign key from the log to the tenants',
    file: 'domain/operations/schema/migrations/baseline/events.sql',
    replace: [
      ['  tenant_id uuid not null,\n  id uuid', '  tenant_id uuid not null references tenants,\n  id uuid'],
    ],
    test: partitions,
    caughtBy: 'does not block writes to the log while a reader blocks it',
  },
  {
    name: 'a paused workflow taken as closed',
    file: 'temporal/inspector.ts',
    replace: [
      ['const { closeTime } = await', 'const { status } = await'],
      ["closeTime === undefined ? 'open'", "status.name === 'RUNNING' ? 'open'"],
    ],
    test: inspector,
    caughtBy: 'distinguishes open, paused, closed and unknown workflows',
  },
  {
    name: 'a failed response whose run completes',
    file: 'workflows/shared/conclude.ts',
    replace: [["end.status === 'failed' || end.status === 'cancelled'", "end.status === 'cancelled'"]],
    test: responses,
    caughtBy: 'fails as its response did',
  },
  {
    name: 'checksum of functions ignored',
    file: 'domain/operations/schema/apply-functions.ts',
    replace: [['known.get(file.name) !== checksumOf(file)', '!known.has(file.name)']],
    test: 'test/upgrade/upgrade.test.ts',
    caughtBy: 'functions of a file with another checksum are applied again',
  },
  {
    name: 'landed migration edited unnoticed',
    file: 'scripts/check/landed-migrations.ts',
    replace: [['files[path] !== checksum', 'files[path] === undefined']],
    test: 'test/scripts/landed-migrations.test.ts',
    caughtBy: 'each refused by name',
  },
];
