import type { PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';
import { shownPrefix } from '#domain/responses/stream/continuation.ts';
import { textSince, type FoldedTurn } from '#domain/responses/store/open-item.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import type { TurnAttempt } from '#domain/responses/record/turn-attempt.entity.ts';

/** How an attempt continues from the text that readers have. */
export interface ContinuationPlan {
  name: 'fresh' | 'replay' | 'reattach' | 'prefill' | 'instruct' | 'restart';
  /** Appended to the conversation. */
  messages: PromptMessage[];
  /** Begin a new message instead of the open one. */
  restart?: boolean;
  /** The vendor's own run that is read again. */
  resume?: string;
  /** Characters of the open message that came from this run. */
  reread?: number;
  /** This run restarted that message: the items before the superseded one belong to another run. */
  startsOver?: boolean;
}

/** Whether an attempt adds to the published text of its turn, instead of repeating it. */
export function continuesPrefix(name: ContinuationPlan['name']): boolean {
  return name === 'prefill' || name === 'instruct' || name === 'restart';
}

const goOn =
  'Your answer was cut off. Continue it at exactly the character at which it ends. ' +
  'Repeat nothing and add no introduction.';

/** @returns `give_up` if the caller prefers a failure to a joined text */
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

/** The vendor's own run that the next attempt reads again; null if it begins another. */
export function resumableRun(
  model: Pick<Model, 'continuation'>,
  earlier: readonly TurnAttempt[],
): string | null {
  return model.continuation === 'reattach' ? lastRun(earlier) : null;
}

/** A run repeats what it was asked for: a whole answer, the text after a prefix, or another message. */
function readAgain(
  resume: string,
  { earlier, events }: { earlier: readonly TurnAttempt[]; events: readonly string[] },
): ContinuationPlan {
  const begun = earlier.find(({ runId }) => runId === resume);
  const reread = begun === undefined ? 0 : textSince(events, begun.firstN).length;
  const startsOver = begun?.continuation === 'restart';
  return { name: 'reattach', messages: [], resume, reread, startsOver, restart: startsOver && reread === 0 };
}

/** The published reasoning of the text that an attempt continues; the attempt's own reasoning replaces it. */
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
