import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { AnswerLimitExceeded } from '#adapters/egress/answer-limit-exceeded.ts';
import { boundedFetch, type BoundedFetchOptions } from '#adapters/egress/bounded-fetch.ts';
import { EgressRefused } from '#adapters/egress/public-address.ts';
import type { ResponseTrace } from '#domain/operations/observability/response-trace.ts';
import {
  TraceExportFailure,
  type TraceExporter,
  type TraceTarget,
} from '#domain/operations/observability/trace-exporter.ts';
import { toSpans } from './trace-spans.ts';

const path = 'api/public/otel/v1/traces';

/** Max concurrent exports to one origin: an origin that hangs must not hold every slot of the worker. */
const maxAtOnce = 4;

export interface OtlpOptions extends BoundedFetchOptions {
  /** Address for spaces that configure none. */
  defaultBaseUrl: string | null;
}

/** Exports OTLP over HTTP as Langfuse accepts it: JSON, with the key pair as basic authentication. */
export function createTraceExporter(options: OtlpOptions): TraceExporter {
  const fetch = boundedFetch('tracing', options);
  const inFlight = new Map<string, number>();
  return {
    async export(target, trace, signal) {
      const base = target.baseUrl ?? options.defaultBaseUrl;
      if (base === null) {
        throw new TraceExportFailure('no_endpoint');
      }
      const url = new URL(path, base.endsWith('/') ? base : `${base}/`);
      const busy = inFlight.get(url.origin) ?? 0;
      if (busy >= maxAtOnce) {
        throw new TraceExportFailure('busy');
      }
      inFlight.set(url.origin, busy + 1);
      try {
        await post(fetch, url, { target, trace, signal });
      } finally {
        const left = (inFlight.get(url.origin) ?? 1) - 1;
        if (left === 0) {
          inFlight.delete(url.origin);
        } else {
          inFlight.set(url.origin, left);
        }
      }
    },
  };
}

interface Posting {
  target: TraceTarget;
  trace: ResponseTrace;
  signal: AbortSignal;
}

async function post(
  fetch: typeof globalThis.fetch,
  url: URL,
  { target, trace, signal }: Posting,
): Promise<void> {
  const credentials = Buffer.from(`${target.publicKey}:${target.secretKey}`).toString('base64');
  const status = await send(fetch, url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Basic ${credentials}` },
    body: Buffer.from(JsonTraceSerializer.serializeRequest(toSpans(trace, target.projectId)) ?? []),
    signal,
  }).catch((error: unknown) => {
    throw toFailure(error, signal);
  });
  if (status === 401 || status === 403) {
    throw new TraceExportFailure('unauthorized', status);
  }
  if (status < 200 || status > 299) {
    throw new TraceExportFailure('http_error', status);
  }
}

/** @returns the answer's status; its body is not read */
async function send(fetch: typeof globalThis.fetch, url: URL, init: RequestInit): Promise<number> {
  const answer = await fetch(url, init);
  await answer.body?.cancel();
  return answer.status;
}

/** Reduces a failure to a code: the original may quote a header. */
function toFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) {
    return signal.reason;
  }
  if (AnswerLimitExceeded.in(error) !== null) {
    return new TraceExportFailure('timeout');
  }
  const refused =
    error instanceof EgressRefused || (error instanceof Error && error.cause instanceof EgressRefused);
  return new TraceExportFailure(refused ? 'url_not_allowed' : 'unreachable');
}
