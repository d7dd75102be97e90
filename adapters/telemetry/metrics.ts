import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { ExceededLimit } from '#adapters/egress/answer-limit-exceeded.ts';
import type { Metrics } from '#domain/foundation/kernel/metrics.ts';
import type { UpkeepState } from '#domain/operations/maintenance/upkeep-state.ts';

export interface Telemetry extends Metrics {
  request(request: { route: string; method: string; status: number; seconds: number }): void;
  /** Counts a call that was not answered in time; its connection was destroyed. */
  hungCall(call: { target: 'postgresql' | 'temporal' }): void;
  streamOpened(): void;
  streamClosed(): void;
  answerCutOff: (exceeded: ExceededLimit) => void;
  /** `read` is called at each scrape. */
  observeQueueAge(read: () => Promise<number>): void;
  /** `read` is called at each scrape. */
  observeUpkeep(read: () => Promise<UpkeepState>): void;
  /** Connections to PostgreSQL; `read` is called at each scrape. */
  observeConnections(read: () => { inUse: number; max: number }): void;
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
  const signals = meter.createCounter('workflow_signals_total');
  const turns = meter.createHistogram('model_turn_duration_seconds', { advice });
  const calls = meter.createCounter('tool_calls_total');
  const misfits = meter.createCounter('tool_results_misfit_total');
  const exceededAnswers = meter.createCounter('answers_cut_off_total');
  const exceededBytes = meter.createCounter('answers_cut_off_bytes_total');
  const hung = meter.createCounter('hung_calls_total');
  const inUse = meter.createObservableGauge('database_connections_in_use');
  const upperBound = meter.createObservableGauge('database_connections_max');
  const age = meter.createObservableGauge('outbox_oldest_row_seconds');
  const unsealed = meter.createObservableGauge('events_unsealed');
  const oldest = meter.createObservableGauge('events_unsealed_oldest_seconds');
  const queue = meter.createObservableGauge('notification_queue_usage');
  const sweeps = meter.createObservableGauge('sweep_age_seconds');
  // Series that begin with their first event: an increase of it is not seen without the zero before.
  streams.add(0);
  for (const target of ['postgresql', 'temporal']) hung.add(0, { target });
  return {
    request: ({ seconds, ...labels }) => requests.record(seconds, labels),
    streamOpened: () => streams.add(1),
    streamClosed: () => streams.add(-1),
    workflowStart: (labels) => starts.add(1, labels),
    workflowSignal: (labels) => signals.add(1, labels),
    modelTurn: ({ seconds, outcome }) => turns.record(seconds, { outcome }),
    toolCall: (labels) => calls.add(1, labels),
    toolMisfit: (labels) => misfits.add(1, labels),
    answerCutOff: ({ use, limit, bytes }) => {
      exceededAnswers.add(1, { use, limit });
      exceededBytes.add(bytes, { use });
    },
    hungCall: (labels) => hung.add(1, labels),
    observeQueueAge: (read) => {
      age.addCallback(async (result) => {
        result.observe(await read().catch(() => Number.NaN));
      });
    },
    observeUpkeep: (read) => {
      meter.addBatchObservableCallback(
        async (result) => {
          const state = await read().catch(() => null);
          result.observe(unsealed, state?.unsealedEvents ?? Number.NaN);
          result.observe(oldest, state?.oldestUnsealedSeconds ?? Number.NaN);
          result.observe(queue, state?.notificationQueueUsage ?? Number.NaN);
          state?.sweeps.forEach(({ name, seconds }) => result.observe(sweeps, seconds, { sweep: name }));
        },
        [unsealed, oldest, queue, sweeps],
      );
    },
    observeConnections: (read) => {
      inUse.addCallback((result) => result.observe(read().inUse));
      upperBound.addCallback((result) => result.observe(read().max));
    },
    scrape: () => scrape(exporter),
    close: () => provider.shutdown(),
  };
}

/** The exporter only answers HTTP requests, so it gets a response object that writes into a string. */
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
