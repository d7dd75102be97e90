import type { ResponseTrace } from './response-trace.ts';

/** The port to tracing services; implemented in adapters/observability. */
export interface TraceExporter {
  /** Sends a whole trace. A repeated export sends the same trace with the same spans. @throws TraceExportFailure */
  export(target: TraceTarget, trace: ResponseTrace, signal: AbortSignal): Promise<void>;
}

export interface TraceTarget {
  /** null: the deployment's. */
  baseUrl: string | null;
  publicKey: string;
  secretKey: string;
  /** As the space's administrator entered it; any JSON. */
  projectId: unknown;
}

export const traceErrors = [
  'no_endpoint',
  'url_not_allowed',
  'unreachable',
  'timeout',
  'unauthorized',
  'http_error',
  'busy',
] as const;
export type TraceError = (typeof traceErrors)[number];

const passing: ReadonlySet<TraceError> = new Set(['unreachable', 'timeout', 'busy']);

/** Why an export failed, without any text of the request or the answer. */
export class TraceExportFailure extends Error {
  readonly code: TraceError;
  /** Whether a retry may succeed. */
  readonly passes: boolean;

  /** @param status of the answer, if there was one */
  constructor(code: TraceError, status: number | null = null) {
    super(code);
    this.name = 'TraceExportFailure';
    this.code = code;
    this.passes =
      passing.has(code) || (status !== null && (status >= 500 || status === 429 || status === 408));
  }
}
