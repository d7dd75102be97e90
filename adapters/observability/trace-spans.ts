import { type Attributes, type HrTime, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { Generation, ResponseTrace, ToolSpan } from '#domain/operations/observability/response-trace.ts';

/**
 * Converts a response to the spans of its trace, with the attributes of OpenTelemetry and Langfuse; the first span is
 * the response itself.
 */
export function toSpans(trace: ResponseTrace, projectId: unknown): ReadableSpan[] {
  const resource = resourceFromAttributes({
    'service.name': 'platform',
    ...(projectId === null ? {} : { 'tracing.project_id': asText(projectId) }),
  });
  const maker = new SpanMaker(trace, resource);
  return [
    maker.make(rootOf(trace)),
    ...trace.generations.map((generation) => maker.make(generationOf(trace, generation))),
    ...trace.tools.map((tool) => maker.make(toolOf(tool))),
  ];
}

interface Described {
  spanId: string;
  name: string;
  startedAt: Date;
  endedAt: Date;
  attributes: Attributes;
  /** Error code; set when the step did not succeed. */
  error: string | null;
}

class SpanMaker {
  readonly #trace: ResponseTrace;
  readonly #resource: Resource;

  constructor(trace: ResponseTrace, resource: Resource) {
    this.#trace = trace;
    this.#resource = resource;
  }

  make(span: Described): ReadableSpan {
    const contextOf = (spanId: string) => ({
      traceId: this.#trace.traceId,
      spanId,
      traceFlags: TraceFlags.SAMPLED,
    });
    const durationMs = Math.max(0, span.endedAt.getTime() - span.startedAt.getTime());
    return {
      name: span.name,
      kind: SpanKind.INTERNAL,
      spanContext: () => contextOf(span.spanId),
      ...(span.spanId === this.#trace.spanId ? {} : { parentSpanContext: contextOf(this.#trace.spanId) }),
      startTime: toHrTime(span.startedAt.getTime()),
      endTime: toHrTime(span.startedAt.getTime() + durationMs),
      duration: toHrTime(durationMs),
      status:
        span.error === null
          ? { code: SpanStatusCode.OK }
          : { code: SpanStatusCode.ERROR, message: span.error },
      attributes: {
        ...span.attributes,
        ...(span.error === null
          ? {}
          : { 'langfuse.observation.level': 'ERROR', 'langfuse.observation.status_message': span.error }),
      },
      links: [],
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: { name: 'platform.responses' },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

function rootOf(trace: ResponseTrace): Described {
  const metadata: Record<string, string | number | null> = {
    response_id: trace.responseId,
    space_id: trace.spaceId,
    status: trace.status,
    reason: trace.reason,
    model_alias: trace.modelAlias,
    previous_response_id: trace.previousResponseId,
    skill_id: trace.skill?.id ?? null,
    skill_version: trace.skill?.version ?? null,
  };
  return {
    ...trace,
    name: 'response',
    error: trace.status === 'failed' ? trace.reason : null,
    attributes: {
      'langfuse.trace.name': 'response',
      'langfuse.user.id': trace.principalId,
      'gen_ai.response.id': trace.responseId,
      ...Object.fromEntries(
        Object.entries(metadata).flatMap(([name, value]) =>
          value === null ? [] : [[`langfuse.trace.metadata.${name}`, value]],
        ),
      ),
    },
  };
}

/** Langfuse sums the kinds of tokens, so no token may be counted twice. */
function generationOf(trace: ResponseTrace, generation: Generation): Described {
  const { usage, outcome, failureCode } = generation;
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const reasoning = Math.min(usage.reasoningTokens, usage.outputTokens);
  return {
    ...generation,
    name: `turn ${generation.iteration}`,
    error: outcome === 'committed' ? null : (failureCode ?? outcome),
    attributes: {
      'langfuse.observation.type': 'generation',
      'langfuse.observation.model.name': trace.model,
      'langfuse.observation.usage_details': JSON.stringify({
        input: usage.inputTokens - cached,
        input_cached_tokens: cached,
        output: usage.outputTokens - reasoning,
        output_reasoning_tokens: reasoning,
        total: usage.inputTokens + usage.outputTokens,
      }),
      'langfuse.observation.cost_details': JSON.stringify({
        total: Number(generation.costPicoUsd) / 1e12,
      }),
      'langfuse.observation.metadata.attempt': generation.attempt,
      'langfuse.observation.metadata.usage_estimated': generation.estimated,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': trace.providerKind,
      'gen_ai.request.model': trace.model,
      'gen_ai.response.model': trace.model,
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    },
  };
}

function toolOf(tool: ToolSpan): Described {
  return {
    ...tool,
    name: tool.tool,
    error: tool.outcome === 'succeeded' ? null : (tool.outcome ?? 'cut_off'),
    attributes: {
      'langfuse.observation.type': 'tool',
      'langfuse.observation.metadata.outcome': tool.outcome ?? 'cut_off',
      'langfuse.observation.metadata.attempts': tool.attempts,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool.tool,
      ...(tool.serverLabel === null ? {} : { 'langfuse.observation.metadata.server': tool.serverLabel }),
    },
  };
}

function toHrTime(ms: number): HrTime {
  return [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
