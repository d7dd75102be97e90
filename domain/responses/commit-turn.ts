import type { EntityManager } from '@mikro-orm/postgresql';
import { reach } from '#domain/kernel/failpoint.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { TokenUsage } from '#domain/models/model-gateway.ts';
import { endResponse, type Ending } from './finish-response.ts';
import { keepItem } from './item-store.ts';
import { lockHead, publish } from './head.ts';
import type { MessageComposer } from './message-composer.ts';
import type { OutputItem } from './output-items.ts';
import { planCalls, type RequestedCall } from './plan-calls.ts';
import type { ProviderState } from './provider-state.ts';
import { placeReasoning, type Reasoned } from './reasoning-items.ts';
import type { Response } from './response.entity.ts';
import { TurnAttempt } from './turn-attempt.entity.ts';
import { Turn } from './turn.entity.ts';
import type { ClaimedTurn } from './turn-claim.ts';
import type { TurnResult } from './turn-result.ts';
import { settleUsage } from './usage.ts';

/** What a model call came to. */
export interface TurnOutcome {
  composer: MessageComposer;
  calls: RequestedCall[];
  reasoned: readonly Reasoned[];
  /** What the provider wants back with the text. */
  textState: ProviderState | null;
  reason: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  usage: TokenUsage | null;
  /** Sequence number after the last published event of the model lane. */
  nextN: number;
}

/** Another writer took the turn, or the response ended: this attempt has nothing left to say. */
export class Fenced extends Error {
  constructor() {
    super('Another writer holds the model lane.');
    this.name = 'Fenced';
  }
}

/** The head, if this attempt still holds the lane. @throws Fenced */
export async function lockLane(
  em: EntityManager,
  turn: ClaimedTurn,
  nextN?: number,
): Promise<{ response: Response; now: Date }> {
  const head = await lockHead(em, turn.responseId);
  const held = head?.response.writerEpoch === turn.epoch && !head.response.isTerminal;
  if (head === null || !held || (nextN !== undefined && head.response.nextN !== nextN)) {
    throw new Fenced();
  }
  return head;
}

/** Commits a turn in one transaction: items, planned calls, usage, events and, where it ends here, the response. */
export async function commitTurn(
  em: EntityManager,
  secrets: Secrets,
  turn: ClaimedTurn,
  outcome: TurnOutcome,
): Promise<TurnResult> {
  const { response, now } = await lockLane(em, turn, outcome.nextN);
  response.bumpEpoch();
  const cut = outcome.reason === 'length' || outcome.reason === 'content_filter';
  const { events, done } = outcome.composer.end({
    status: cut ? 'incomplete' : 'completed',
    phase: outcome.calls.length > 0 ? 'commentary' : 'final_answer',
  });
  response.nextOutputIndex = outcome.composer.nextOutputIndex;
  const reasoning = placeReasoning(secrets, response, outcome.reasoned);
  // Messages that were given up hold nothing that the provider knows.
  const kept = done.map((finished, i) =>
    i === done.length - 1 ? { ...finished, providerState: outcome.textState } : finished,
  );
  for (const finished of [...turn.closed, ...kept, ...reasoning.items]) {
    keepItem(em, response, finished);
  }
  await settleUsage(em, response, {
    iteration: turn.iteration,
    attempt: turn.attempt,
    usage: outcome.usage,
    text: [...done.map(({ item }) => textOf(item)), ...outcome.calls.map((call) => call.arguments)].join(' '),
    aborted: false,
  });
  const planned = cut ? { kind: 'none' as const } : planCalls({ em, secrets, response }, turn, outcome.calls);
  await publish(em, response, [
    ...events,
    ...reasoning.events,
    ...(planned.kind === 'none' ? [] : planned.events),
  ]);
  const ending = endingOf(outcome, planned.kind);
  const result: TurnResult =
    ending === null && planned.kind === 'run'
      ? { next: 'tools', calls: planned.calls }
      : { next: 'done', calls: [] };
  await em.nativeUpdate(
    TurnAttempt,
    { responseId: response.id, iteration: turn.iteration, attempt: turn.attempt },
    { outcome: 'committed', endedAt: now },
  );
  await em.nativeUpdate(
    Turn,
    { responseId: response.id, iteration: turn.iteration },
    { status: 'committed', committedAt: now, result },
  );
  if (ending !== null) {
    await endResponse(em, response, now, ending);
  }
  reach('turn.before_commit');
  return result;
}

/** The result of this attempt's own commit, when its answer was lost; null when another writer took the lane. */
export async function committedResult(em: EntityManager, turn: ClaimedTurn): Promise<TurnResult | null> {
  const place = { responseId: turn.responseId, iteration: turn.iteration };
  const own = await em.findOne(TurnAttempt, { ...place, attempt: turn.attempt, outcome: 'committed' });
  const row = own === null ? null : await em.findOne(Turn, { ...place, status: 'committed' });
  return row?.result ?? null;
}

function endingOf(outcome: TurnOutcome, planned: 'none' | 'run' | 'returned' | 'too_many'): Ending | null {
  if (outcome.reason === 'length') {
    return { status: 'incomplete', reason: 'max_output_tokens' };
  }
  if (outcome.reason === 'content_filter') {
    return { status: 'incomplete', reason: 'content_filter' };
  }
  switch (planned) {
    case 'too_many':
      return { status: 'incomplete', reason: 'max_tool_calls' };
    case 'run':
      return null;
    case 'none':
    case 'returned':
      return { status: 'completed' };
  }
}

function textOf(item: OutputItem): string {
  return item.type === 'message' ? item.content.map((part) => part.text).join('') : '';
}
