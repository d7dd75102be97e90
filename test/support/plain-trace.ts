import type { ResponseTrace } from '#domain/operations/observability/response-trace.ts';

/** The trace of an empty response, at one moment. */
export function plainTrace(at: Date): ResponseTrace {
  return {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    responseId: 'resp_x',
    spaceId: 'space',
    principalId: 'principal',
    previousResponseId: null,
    status: 'completed',
    reason: null,
    model: 'model',
    modelAlias: 'alias',
    providerKind: 'openai',
    skill: null,
    startedAt: at,
    endedAt: at,
    generations: [],
    tools: [],
  };
}
