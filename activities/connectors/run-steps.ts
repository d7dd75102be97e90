import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { ApplicationFailure } from '@temporalio/common';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { sourceOf } from '#domain/knowledge/connectors/connector-spec.ts';
import { findRunning, RunEnded, type RunningRun } from '#domain/knowledge/synchronisation/running-run.ts';
import { pauseHost, takeRequests } from '#domain/knowledge/synchronisation/source-pace.ts';
import type { SourceProviders } from '#domain/knowledge/connectors/source-providers.ts';
import { SourceFailure, type Source } from '#domain/knowledge/connectors/source.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import type { SyncConnectorInput } from '#workflows/sync-connector/messages.ts';

export interface SourceDependencies {
  unitOfWork: UnitOfWork;
  sources: SourceProviders;
}

/** A run with its opened source. */
export interface OpenRun extends RunningRun {
  tenantId: string;
  source: Source;
  /** Null: the source has none. */
  host: string | null;
  /** Waits until so many requests may be sent to the source's host. */
  pace: (count: number, signal: AbortSignal) => Promise<void>;
}

/** A longer wait for the shared bucket ends the step, and is spent by the workflow. */
const maxWaitMs = 20_000;
/** Of a source that asks for a pause and does not say how long. */
const defaultPauseMs = 5_000;
const maxPauseMs = 3_600_000;

/**
 * Opens the source of a run for one step, and closes it at its end. A failure of the source becomes one of the
 * activity, by its code: what a person must mend is not retried.
 * @returns what `work` returns, or `ended`: the run is over, or is to be cancelled
 */
export async function withSource<T>(
  { unitOfWork, sources }: SourceDependencies,
  { tenantId, runId }: SyncConnectorInput,
  work: (open: OpenRun) => Promise<T>,
): Promise<T | 'ended'> {
  let source: Source | null = null;
  let host: string | null = null;
  try {
    const { use, ...running } = await unitOfWork.inTenant(tenantId, async (em) => {
      const found = await findRunning(em, runId);
      return { ...found, use: await sourceOf(em, sources, found.connector, found.connector) };
    });
    ({ host } = sources.endpoint(use.providerSlug, use.scopeConfig, use.toolServer));
    source = await sources.open(use);
    const pace = paceOf(unitOfWork, { tenantId, host, maxWaitMs });
    return await work({ ...running, tenantId, source, host, pace });
  } catch (error) {
    if (error instanceof RunEnded) {
      return 'ended';
    }
    if (error instanceof SourceFailure) {
      await noteFailure(unitOfWork, { tenantId, runId, host }, error);
      throw failureOf(error);
    }
    throw error;
  } finally {
    await source?.close?.().catch(() => {});
  }
}

interface PacedHost {
  tenantId: string;
  /** Null: the source has none. */
  host: string | null;
  /** A longer wait is a failure. */
  maxWaitMs: number;
}

/** Waits until so many requests may be sent to a host. @throws SourceFailure, the signal's reason */
export function paceOf(unitOfWork: UnitOfWork, { tenantId, host, maxWaitMs }: PacedHost): OpenRun['pace'] {
  return async (count, signal) => {
    if (host === null || count === 0) {
      return;
    }
    const taken = { tenantId, host, count };
    const waitMs = await unitOfWork.inTenant(tenantId, (em) => takeRequests(em, taken));
    if (waitMs > maxWaitMs) {
      throw new SourceFailure('rate_limited', 'Other runs use this source.', { retryAfterMs: waitMs });
    }
    await pause(waitMs, signal);
  };
}

interface RunAtHost {
  tenantId: string;
  runId: string;
  host: string | null;
}

async function noteFailure(
  unitOfWork: UnitOfWork,
  { tenantId, runId, host }: RunAtHost,
  failure: SourceFailure,
): Promise<void> {
  await unitOfWork.inTenant(tenantId, async (em) => {
    await em.nativeUpdate(SyncRun, { id: runId, status: 'running' }, { errorText: failure.message });
    await em.execute(
      `update sync_runs set attempts = attempts + 1 where tenant_id = ? and id = ? and status = 'running'`,
      [tenantId, runId],
    );
    await notePause(em, { tenantId, runId, host }, failure);
  });
}

/** A pause that the source asks for is one for every run of the tenant at its host, and counted for this one. */
export async function notePause(
  em: EntityManager,
  { tenantId, runId, host }: RunAtHost,
  failure: SourceFailure,
): Promise<void> {
  if (failure.code !== 'rate_limited') {
    return;
  }
  const ms = pauseOf(failure);
  await em.execute(
    `update sync_runs set rate_limited_ms = rate_limited_ms + ?
     where tenant_id = ? and id = ? and status = 'running'`,
    [ms, tenantId, runId],
  );
  if (host !== null) {
    await pauseHost(em, { tenantId, host, ms });
  }
}

/** Milliseconds that the source asks for. */
export function pauseOf({ retryAfterMs }: SourceFailure): number {
  return Math.min(Math.max(retryAfterMs ?? defaultPauseMs, 100), maxPauseMs);
}

/** Codes that another attempt may not meet again. */
const isRetried = { source_unreachable: true, rate_limited: true } as Partial<
  Record<SourceFailure['code'], true>
>;

function failureOf(failure: SourceFailure): ApplicationFailure {
  return ApplicationFailure.create({
    type: failure.code,
    // Written by the providers: no text from the source.
    message: failure.message,
    nonRetryable: isRetried[failure.code] !== true,
    ...(failure.code === 'rate_limited' ? { nextRetryDelay: pauseOf(failure) } : {}),
  });
}

/** @throws the signal's reason */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
  signal.throwIfAborted();
}
