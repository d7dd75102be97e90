import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Metrics } from '#domain/kernel/metrics.ts';

export interface Telemetry extends Metrics {
  request(request: { route: string; method: string; status: number; seconds: number }): void;
  streamOpened(): void;
  streamClosed(): void;
  /** Asked at each scrape. */
  observeQueueAge(read: () => Promise<number>): void;
  /** Prometheus text. */
  scrape(): Promise<string>;
  close(): Promise<void>;
}

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Process metrics in Prometheus form. Labels are closed sets: routes, codes, kinds. */
export function createTelemetry(): Telemetry {
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutTargetInfo: true,
    withoutScopeInfo: true,
  });
  const provider = new MeterProvider({ readers: [exporter] });
  const meter = provider.getMeter('platform');
  const advice = { explicitBucketBoundaries: secondsBuckets };
  const requests = meter.createHistogram('http_request_duration_seconds', { advice });
  const streams = meter.createUpDownCounter('sse_streams_open');
  const starts = meter.createCounter('workflow_starts_total');
  const turns = meter.createHistogram('model_turn_duration_seconds', { advice });
  const calls = meter.createCounter('tool_calls_total');
  const age = meter.createObservableGauge('outbox_oldest_row_seconds');
  return {
    request: ({ seconds, ...labels }) => requests.record(seconds, labels),
    streamOpened: () => streams.add(1),
    streamClosed: () => streams.add(-1),
    workflowStart: (labels) => starts.add(1, labels),
    modelTurn: ({ seconds, outcome }) => turns.record(seconds, { outcome }),
    toolCall: (labels) => calls.add(1, labels),
    observeQueueAge: (read) => {
      age.addCallback(async (result) => {
        result.observe(await read().catch(() => Number.NaN));
      });
    },
    scrape: () => scrape(exporter),
    close: () => provider.shutdown(),
  };
}

/** The exporter answers requests only: it is given one that writes into a string. */
function scrape(exporter: PrometheusExporter): Promise<string> {
  return new Promise((resolve) => {
    exporter.getMetricsRequestHandler(
      {} as Parameters<PrometheusExporter['getMetricsRequestHandler']>[0],
      {
        statusCode: 200,
        setHeader: () => undefined,
        end: (text: string) => resolve(text),
      } as unknown as Parameters<PrometheusExporter['getMetricsRequestHandler']>[1],
    );
  });
}
