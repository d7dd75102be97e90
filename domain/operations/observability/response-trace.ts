import type { EntityManager } from '@mikro-orm/postgresql';
import type { TokenUsage } from '#domain/capabilities/models/model-gateway.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import type { ProviderKind } from '#domain/capabilities/models/model-gateway.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { UsageEntry } from '#domain/responses/record/usage-entry.entity.ts';
import { spanIdOf, traceIdOf } from '#domain/responses/record/trace-ids.ts';

/** What tracing receives of a response: ids, names, numbers and times, never prompts or answers. */
export interface ResponseTrace {
  traceId: string;
  spanId: string;
  responseId: string;
  spaceId: string;
  principalId: string;
  previousResponseId: string | null;
  status: string;
  /** Why it did not complete. */
  reason: string | null;
  model: string;
  modelAlias: string;
  providerKind: ProviderKind;
  skill: { id: string; version: number } | null;
  startedAt: Date;
  endedAt: Date;
  generations: Generation[];
  tools: ToolSpan[];
}

/** One paid attempt at a model turn. */
export interface Generation {
  spanId: string;
  /** From 0. */
  iteration: number;
  /** From 1. */
  attempt: number;
  outcome: TurnAttempt['outcome'];
  failureCode: string | null;
  usage: TokenUsage;
  costPicoUsd: bigint;
  /** Whether the vendor reported no usage. */
  estimated: boolean;
  startedAt: Date;
  endedAt: Date;
}

export interface ToolSpan {
  spanId: string;
  iteration: number;
  tool: string;
  serverLabel: string | null;
  /** null: the call had no outcome when the response ended. */
  outcome: ToolCall['outcome'] | null;
  attempts: number;
  startedAt: Date;
  endedAt: Date;
}

/** Reads the trace of an ended response from its ledgers. Null if the response runs or cannot be read any more. */
export async function readTrace(em: EntityManager, responseId: string): Promise<ResponseTrace | null> {
  const response = await em.findOne(Response, { id: responseId });
  if (response?.finishedAt == null) {
    return null;
  }
  const endedAt = response.finishedAt;
  const model = await em.findOneOrFail(Model, { id: response.modelId });
  const attempts = await em.find(
    TurnAttempt,
    { responseId },
    { orderBy: { iteration: 'asc', attempt: 'asc' } },
  );
  const entries = await em.find(UsageEntry, { responseId, settled: true });
  const calls = await em.find(ToolCall, { responseId }, { orderBy: { iteration: 'asc', callIndex: 'asc' } });
  const { skill } = response.request;
  return {
    traceId: traceIdOf(responseId),
    spanId: spanIdOf(responseId),
    responseId,
    spaceId: response.spaceId,
    principalId: response.principalId,
    previousResponseId: response.previousResponseId ?? null,
    status: response.status,
    reason: response.incompleteReason ?? response.failure?.code ?? null,
    model: response.model,
    modelAlias: response.modelAlias,
    providerKind: model.providerKind,
    skill: skill === undefined ? null : { id: skill.id, version: skill.version },
    startedAt: response.createdAt,
    endedAt,
    generations: attempts.map((attempt) => toGeneration(attempt, entries, endedAt)),
    tools: calls.map((call) => toToolSpan(call, endedAt)),
  };
}

function toGeneration(attempt: TurnAttempt, entries: readonly UsageEntry[], endedAt: Date): Generation {
  const own = entries.filter(
    (entry) => entry.iteration === attempt.iteration && entry.attempt === attempt.attempt,
  );
  const sum = (of: (entry: UsageEntry) => number) => own.reduce((total, entry) => total + of(entry), 0);
  return {
    spanId: spanIdOf(attempt.responseId, 'turn', attempt.iteration, attempt.attempt),
    iteration: attempt.iteration,
    attempt: attempt.attempt,
    outcome: attempt.outcome,
    failureCode: attempt.failureCode ?? null,
    usage: {
      inputTokens: sum((entry) => entry.inputTokens),
      cachedInputTokens: sum((entry) => entry.cachedInputTokens),
      outputTokens: sum((entry) => entry.outputTokens),
      reasoningTokens: sum((entry) => entry.reasoningTokens),
    },
    costPicoUsd: own.reduce((total, entry) => total + BigInt(entry.costPicoUsd), 0n),
    estimated: own.some((entry) => entry.estimated),
    startedAt: attempt.startedAt,
    endedAt: attempt.endedAt ?? endedAt,
  };
}

function toToolSpan(call: ToolCall, endedAt: Date): ToolSpan {
  return {
    spanId: spanIdOf(call.responseId, 'call', call.iteration, call.callIndex),
    iteration: call.iteration,
    tool: call.tool,
    serverLabel: call.serverLabel ?? null,
    outcome: call.outcome ?? null,
    attempts: call.attempts,
    startedAt: call.startedAt ?? call.createdAt,
    endedAt: call.doneAt ?? endedAt,
  };
}
