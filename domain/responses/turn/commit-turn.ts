import type { EntityManager } from '@mikro-orm/postgresql';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { TokenUsage } from '#domain/capabilities/models/model-gateway.ts';
import { endChange, outputWith } from '#domain/responses/end/end-change.ts';
import { copyEntity } from '#domain/foundation/persistence/rows.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { endResponse } from '#domain/responses/end/finish-response.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import type { MessageComposer } from '#domain/responses/stream/message-composer.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import { planCalls } from '#domain/responses/calls/plan-calls.ts';
import type { RequestedCall } from '#domain/responses/store/requested-call.ts';
import type { ProviderState } from '#domain/responses/record/provider-state.ts';
import { endOf, type Ending } from '#domain/responses/record/response-end.ts';
import {
  ResponseChange,
  writeChange,
  writeWithin,
  type ChangeAnswer,
  type ResponseStore,
} from '#domain/responses/store/response-change.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import { readLane } from '#domain/responses/store/stream-store.ts';
import { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';
import { Turn } from '#domain/responses/record/turn.entity.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import { addUsage, computeFinalUsage } from '#domain/responses/store/usage.ts';

/** The outcome of a model call. */
export interface TurnOutcome {
  composer: MessageComposer;
  calls: RequestedCall[];
  /** State that the provider needs back with the text. */
  textState: ProviderState | null;
  reason: 'stop' | 'length' | 'tool_calls' | 'content_filter';
  usage: TokenUsage | null;
  /** Events that are not appended yet. */
  rest: readonly StreamEvent[];
  /** Sequence number after the last published event of the model lane. */
  nextN: number;
}

/** Another writer claimed the turn, or the response ended: this attempt must stop writing. */
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
): Promise<{ response: Response; now: Date }> {
  const head = await lockHead(em, turn.responseId);
  if (head === null || head.response.writerEpoch !== turn.epoch || head.response.isTerminal) {
    throw new Fenced();
  }
  return head;
}

/**
 * Commits a turn in one transaction: items, planned calls, usage, events and, if it ends here, the response.
 * @throws Fenced
 */
export async function commitTurn(
  store: ResponseStore,
  secrets: Secrets,
  turn: ClaimedTurn,
  outcome: TurnOutcome,
): Promise<TurnResult> {
  const lane = await readLane(store.database, turn.tenantId, turn.responseId);
  if (lane === null || lane.epoch !== turn.epoch || lane.nextN !== outcome.nextN) {
    throw new Fenced();
  }
  const held = Object.assign(copyEntity(turn.held.response), { nextN: outcome.nextN });
  const { change, result, ending } = finaliseTurn(secrets, { turn, outcome, held, now: lane.now });
  hitFailpoint('turn.before_commit');
  const answer =
    ending !== null && (lane.awaited || hasRelatedWrites(held))
      ? await endAwaited(store.unitOfWork, change, ending)
      : await writeChange(store.database, ending === null ? change : ended(change, turn, lane.now, ending));
  switch (answer) {
    case 'applied':
      return result;
    case 'conflict':
      throw new Fenced();
    case 'blocked':
      // Another response began to wait for this one meanwhile.
      return commitTurn(store, secrets, turn, outcome);
  }
}

interface Settling {
  turn: ClaimedTurn;
  outcome: TurnOutcome;
  held: Response;
  now: Date;
}

/** The changes of a turn without the end of its response. */
function finaliseTurn(
  secrets: Secrets,
  { turn, outcome, held, now }: Settling,
): { change: ResponseChange; result: TurnResult; ending: Ending | null } {
  const change = new ResponseChange(held);
  const { response } = change;
  response.bumpEpoch();
  const truncated = outcome.reason === 'length' || outcome.reason === 'content_filter';
  const { events, done: composed } = outcome.composer.end({
    status: truncated ? 'incomplete' : 'completed',
    phase: outcome.calls.length > 0 ? 'commentary' : 'final_answer',
  });
  response.nextOutputIndex = outcome.composer.nextOutputIndex;
  // Superseded messages have no state that the provider knows.
  const said = composed.findLastIndex(({ item }) => item.type === 'message');
  const done = composed.map((finished, i) =>
    i === said ? { ...finished, providerState: outcome.textState } : finished,
  );
  [...turn.closed, ...done].forEach((finished) => change.addItem(finished));
  const planned = truncated ? { kind: 'none' as const } : planCalls({ change, secrets }, turn, outcome.calls);
  change.publish([...outcome.rest, ...events, ...(planned.kind === 'none' ? [] : planned.events)]);
  const ending = endingOf(outcome, planned.kind);
  const result: TurnResult =
    ending === null && planned.kind === 'run'
      ? { next: 'tools', calls: planned.calls }
      : { next: 'done', calls: [], ...(ending !== null && { end: endOf(ending) }) };
  const text = [...done.map(({ item }) => textOf(item)), ...outcome.calls.map((call) => call.arguments)];
  change.committed = {
    iteration: turn.iteration,
    attempt: turn.attempt,
    endedAt: now,
    ...computeFinalUsage({ ...turn.held, usage: outcome.usage, text: text.join(' ') }),
  };
  change.turn = { ...turn.held.turn, status: 'committed', committedAt: now, result };
  return { change, result, ending };
}

/** Adds the end of the response, for which no other waits. */
function ended(change: ResponseChange, turn: ClaimedTurn, now: Date, ending: Ending): ResponseChange {
  const { output, usage, requester } = turn.held;
  endChange(change, {
    ending,
    now,
    // Items of earlier turns, so before all that this turn adds.
    output: outputWith(
      output.map((wire) => ({ outputIndex: -1, wire })),
      change,
    ),
    usage: change.committed === null ? usage : addUsage(usage, change.committed),
    actor: requester,
  });
  return change;
}

/** Whether its end writes more than one call carries: messages of its thread, and found personal data. */
function hasRelatedWrites({ threadId, request }: Response): boolean {
  return threadId != null || request.redaction !== undefined;
}

/** Ends the response in one transaction with the writes to waiting responses or to the thread. */
function endAwaited(unitOfWork: UnitOfWork, change: ResponseChange, ending: Ending): Promise<ChangeAnswer> {
  const { tenantId, id } = change.response;
  return unitOfWork.inTenant(tenantId, async (em) => {
    const answer = await writeWithin(em, change);
    const head = answer === 'applied' ? await lockHead(em, id) : null;
    if (head !== null) {
      await endResponse(em, head.response, head.now, ending);
    }
    return answer;
  });
}

/** The result of this attempt's own commit if its answer was lost; null if another writer claimed the lane. */
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
