import type { PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';
import { shownPrefix } from '#domain/responses/stream/continuation.ts';
import { textSince, type FoldedTurn } from '#domain/responses/store/open-item.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import type { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';

/** How an attempt goes on from what readers already have. */
export interface ContinuationPlan {
  name: 'fresh' | 'replay' | 'reattach' | 'prefill' | 'instruct' | 'restart';
  /** What is put behind the conversation. */
  messages: PromptMessage[];
  /** Begin a new message instead of the open one. */
  restart?: boolean;
  /** The vendor's own run that is read again. */
  resume?: string;
  /** Characters of the open message that this very run has said. */
  reread?: number;
  /** This very run began that message anew: what stands before the one given up is another run's. */
  startsOver?: boolean;
}

/** Whether an attempt adds to what was published of its turn, instead of saying that once more. */
export function continuesPrefix(name: ContinuationPlan['name']): boolean {
  return name === 'prefill' || name === 'instruct' || name === 'restart';
}

const goOn =
  'Your answer was cut off. Continue it at exactly the character at which it ends. ' +
  'Repeat nothing and add no introduction.';

/** @returns `give_up` when the caller would rather fail than see a joined text. */
export function planContinuation(
  request: ResponseRequest,
  model: Pick<Model, 'continuation'>,
  past: { folded: FoldedTurn; earlier: readonly TurnAttempt[]; events: readonly string[] },
): ContinuationPlan | 'give_up' {
  const resume = resumableRun(model, past.earlier);
  if (resume !== null) {
    return readAgain(resume, past);
  }
  const prefix = shownPrefix(past.folded.open?.text ?? '');
  if (prefix === '') {
    return { name: 'fresh', messages: [] };
  }
  if (request.on_generation_loss === 'fail') {
    return 'give_up';
  }
  if (request.on_generation_loss === 'restart') {
    return { name: 'restart', messages: [], restart: true };
  }
  const trailing: PromptMessage = { role: 'assistant', text: prefix, calls: [] };
  const instruct: ContinuationPlan = { name: 'instruct', messages: [trailing, { role: 'user', text: goOn }] };
  switch (model.continuation) {
    case 'replay':
      return { name: 'replay', messages: [] };
    case 'prefill':
      return past.earlier.some((attempt) => attempt.failureCode === 'trailing_assistant_refused')
        ? instruct
        : { name: 'prefill', messages: [trailing] };
    case 'instruct':
    case 'reattach':
      return instruct;
    case 'none':
      return { name: 'restart', messages: [], restart: true };
  }
}

/** The vendor's own run that the next attempt reads again; null when it begins another. */
export function resumableRun(
  model: Pick<Model, 'continuation'>,
  earlier: readonly TurnAttempt[],
): string | null {
  return model.continuation === 'reattach' ? lastRun(earlier) : null;
}

/** A run says again what it was asked for: a whole answer, what comes behind a prefix, or another message. */
function readAgain(
  resume: string,
  { earlier, events }: { earlier: readonly TurnAttempt[]; events: readonly string[] },
): ContinuationPlan {
  const begun = earlier.find(({ runId }) => runId === resume);
  const reread = begun === undefined ? 0 : textSince(events, begun.firstN).length;
  const startsOver = begun?.continuation === 'restart';
  return { name: 'reattach', messages: [], resume, reread, startsOver, restart: startsOver && reread === 0 };
}

/** The reasoning that readers have of what an attempt goes on with: what it reasons itself takes the place of that. */
export function reasoningToRepeat(
  { closed }: FoldedTurn,
  { restart, startsOver }: ContinuationPlan,
): FoldedTurn['closed'] {
  if (restart === true) {
    return [];
  }
  const abandoned = startsOver === true ? closed.findLastIndex(({ item }) => item.type === 'message') : -1;
  return closed.slice(abandoned + 1).filter(({ item }) => item.type === 'reasoning');
}

/** The run that the vendor still works on or has finished, unless it was found lost. */
function lastRun(earlier: readonly TurnAttempt[]): string | null {
  const lost = earlier.findLastIndex(({ failureCode }) => failureCode === 'run_lost');
  return earlier.slice(lost + 1).findLast(({ runId }) => runId != null)?.runId ?? null;
}
