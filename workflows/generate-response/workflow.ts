import {
  CancellationScope,
  condition,
  isCancellation,
  log,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { CloseReason } from '#domain/responses/end/close-response.ts';
import type { ResponseEnd } from '#domain/responses/record/response-end.ts';
import { closing, modelTurn, toolCall } from '../shared/activity-options.ts';
import { conclude } from '../shared/conclude.ts';
import { progressQuery, type GenerateResponseInput, type ResponseProgress } from './messages.ts';

const { runTurn } = proxyActivities<Activities>(modelTurn);
const { runCall } = proxyActivities<Activities>(toolCall);
const { closeResponse, endResponse } = proxyActivities<Activities>(closing);

const parallelCalls = 8;

/**
 * Alternates between model turns and tool calls until a turn ends the response. Each turn and each call is one
 * activity that may run on any worker any number of times; a response that ends in its last turn needs no other
 * activity. The deadline and every other end go through the closing activity.
 */
export async function generateResponse(input: GenerateResponseInput): Promise<ResponseEnd | undefined> {
  const { tenantId, responseId } = input;
  const progress: ResponseProgress = { iteration: 0, step: 'turn' };
  setHandler(progressQuery, () => progress);
  let ended = false;

  const show = (step: ResponseProgress['step'], text: string) => {
    progress.step = step;
    setCurrentDetails(text);
  };

  const loop = new CancellationScope();
  const generate = async (): Promise<ResponseEnd | undefined> => {
    for (let iteration = 0; ; iteration += 1) {
      progress.iteration = iteration;
      show('turn', `model turn ${iteration + 1} · ${input.model}`);
      const turn = await runTurn.executeWithOptions(
        { summary: `model turn ${iteration + 1} · ${input.model}` },
        [{ tenantId, responseId, iteration }],
      );
      if (turn.next === 'done') {
        return turn.end;
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

  /**
   * Fires at the response's deadline; the closing activity checks it, in case the response began after this workflow.
   */
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
  let end: ResponseEnd | undefined;
  try {
    end = await loop.run(generate);
    show('done', 'done');
  } catch (error) {
    const cancelled = isCancellation(error);
    show('closing', cancelled ? 'cancelled' : 'failed');
    if (!cancelled) {
      log.error('generation failed', { responseId });
    }
    const reason: CloseReason = cancelled
      ? { kind: 'cancelled' }
      : { kind: 'failed', code: 'internal_error' };
    end = await CancellationScope.nonCancellable(() => close({ tenantId, responseId, reason }));
    show('done', 'closed');
  }
  ended = true;
  await deadline;
  // Turn results of earlier versions lack the end of the response.
  return end === undefined ? end : await conclude(end);
}

type Closing = Parameters<Activities['endResponse']>[0];

async function close(closing: Closing): Promise<ResponseEnd | undefined> {
  if (patched('closing-tells-the-end')) {
    return endResponse(closing);
  }
  await closeResponse(closing);
  return undefined;
}
