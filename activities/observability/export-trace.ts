import { Context } from '@temporalio/activity';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { recordExport, prepareExport } from '#domain/operations/observability/prepare-export.ts';
import {
  TraceExportFailure,
  type TraceError,
  type TraceExporter,
  type TraceTarget,
} from '#domain/operations/observability/trace-exporter.ts';
import type { ResponseTrace } from '#domain/operations/observability/response-trace.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { TraceResponseInput, TraceResponseResult } from '#workflows/trace-response/messages.ts';
import { retryLater } from '../failures.ts';

export interface TraceDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  traces: TraceExporter;
}

/** Delay when the process has too many exports to slow endpoints, independent of the attempt. */
const busyDelayMs = 30_000;

/** Reads the trace from the ledgers and sends it. Idempotent: the trace is always the same. */
export async function exportTrace(
  deps: TraceDependencies,
  { tenantId, spaceId, responseId }: TraceResponseInput,
): Promise<TraceResponseResult> {
  const { unitOfWork, secrets } = deps;
  const prepared = await unitOfWork.inTenant(tenantId, (em) => prepareExport({ em, secrets }, responseId));
  if (prepared === null) {
    return { outcome: 'skipped' };
  }
  const failure = await send(deps.traces, prepared);
  if (failure?.code !== 'busy') {
    const error: TraceError | null = failure?.code ?? null;
    await unitOfWork.inTenant(tenantId, (em) => recordExport(em, spaceId, error));
  }
  if (failure === null) {
    return { outcome: 'exported' };
  }
  if (!failure.passes) {
    return { outcome: 'given_up', error: `trace_${failure.code}` };
  }
  throw retryLater(`trace_${failure.code}`, failure.code === 'busy' ? busyDelayMs : undefined);
}

async function send(
  traces: TraceExporter,
  { target, trace }: { target: TraceTarget; trace: ResponseTrace },
): Promise<TraceExportFailure | null> {
  try {
    await traces.export(target, trace, Context.current().cancellationSignal);
    return null;
  } catch (error) {
    if (error instanceof TraceExportFailure) {
      return error;
    }
    throw error;
  }
}
