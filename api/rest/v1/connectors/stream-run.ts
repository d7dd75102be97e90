import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { presentSyncRun } from '#api/present/connectors.ts';
import { streamRecord, type Snapshot } from '#api/sse/record-stream.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { isFinished } from '#domain/knowledge/connectors/sync-status.ts';

/** A HEAD request never attaches to a stream. */
export function wantsEvents({ method, headers }: FastifyRequest): boolean {
  return method !== 'HEAD' && (headers.accept?.includes('text/event-stream') ?? false);
}

/** Sends the run as server-sent events to its end. @throws `rate_limited`, `draining` */
export function streamRun(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { run, read }: { run: SyncRun; read: () => Promise<SyncRun> },
): void {
  const first = snapshotOf(run);
  if (first.isFinal && request.headers['last-event-id'] === first.id) {
    // Keeps a browser's EventSource from connecting again.
    reply.hijack();
    reply.raw.writeHead(204, reply.getHeaders() as Record<string, string>).end();
    return;
  }
  if (deps.draining.value) {
    throw new DomainError('draining', 'This process is stopping; try again.', { retryAfter: 1 });
  }
  const leave = deps.streamPlaces.take(request.identity);
  streamRecord(request, reply, {
    event: 'sync_run',
    first,
    read: async () => {
      await request.reauthenticate();
      return snapshotOf(await read());
    },
    maxMs: deps.config.MAX_STREAM_SECONDS * 1_000,
    open: deps.openStreams,
    onOpen: () => deps.telemetry.streamOpened(),
    onClose: () => {
      leave();
      deps.telemetry.streamClosed();
    },
  });
}

function snapshotOf(run: SyncRun): Snapshot {
  return {
    id: `${run.id}:${run.status}`,
    record: presentSyncRun(run),
    isFinal: isFinished(run.status),
  };
}
