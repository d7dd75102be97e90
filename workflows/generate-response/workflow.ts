import {
  CancellationScope,
  condition,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { closing, modelTurn, toolCall } from '../shared/activity-options.ts';
import { progressQuery, type GenerateResponseInput, type ResponseProgress } from './messages.ts';

const { runTurn } = proxyActivities<Activities>(modelTurn);
const { runCall } = proxyActivities<Activities>(toolCall);
const { closeResponse } = proxyActivities<Activities>(closing);

const parallelCalls = 8;

/**
 * Model, tools, model … until a turn says done. Each turn and each call is one activity that may run on any
 * worker any number of times; a response that ends by itself needs no other. The deadline and every other end
 * go through the closing activity.
 */
export async function generateResponse(input: GenerateResponseInput): Promise<void> {
  const { tenantId, responseId } = input;
  const progress: ResponseProgress = { iteration: 0, step: 'turn' };
  setHandler(progressQuery, () => progress);
  let ended = false;

  const show = (step: ResponseProgress['step'], text: string) => {
    progress.step = step;
    setCurrentDetails(text);
  };

  const loop = new CancellationScope();
  const generate = async () => {
    for (let iteration = 0; ; iteration += 1) {
      progress.iteration = iteration;
      show('turn', `model turn ${iteration + 1} · ${input.model}`);
      const turn = await runTurn.executeWithOptions(
        { summary: `model turn ${iteration + 1} · ${input.model}` },
        [{ tenantId, responseId, iteration }],
      );
      if (turn.next === 'done') {
        return;
      }
      show('calls', `tools of turn ${iteration + 1}: ${turn.calls.map((call) => call.summary).join(', ')}`);
      for (let first = 0; first < turn.calls.length; first += parallelCalls) {
        await Promise.all(
          turn.calls
            .slice(first, first + parallelCalls)
            .map((call) =>
              runCall.executeWithOptions({ summary: call.summary }, [
                { tenantId, responseId, iteration, callIndex: call.index },
              ]),
            ),
        );
      }
    }
  };

  /** Fires when the response's time is up; the closing activity says if it began later than this workflow. */
  const holdDeadline = async () => {
    let leftMs: number | null = input.timeoutSeconds * 1_000;
    while (leftMs !== null && !(await condition(() => ended, leftMs + 100))) {
      leftMs = await closeResponse({ tenantId, responseId, reason: { kind: 'deadline' } });
    }
    if (!ended) {
      loop.cancel();
    }
  };

  const deadline = holdDeadline().catch(() => undefined);
  try {
    await loop.run(generate);
    show('done', 'done');
  } catch (error) {
    const cancelled = isCancellation(error);
    show('closing', cancelled ? 'cancelled' : 'failed');
    if (!cancelled) {
      log.error('generation failed', { responseId });
    }
    await CancellationScope.nonCancellable(() =>
      closeResponse({
        tenantId,
        responseId,
        reason: cancelled ? { kind: 'cancelled' } : { kind: 'failed', code: 'internal_error' },
      }),
    );
    show('done', 'closed');
  }
  ended = true;
  await deadline;
}
