import { toolDefinitions } from '#domain/knowledge/knowledge-definition.ts';
import { cleanText } from '#domain/kernel/clean-text.ts';
import type { ModelGateway, ModelPart, ModelRequest } from '#domain/models/model-gateway.ts';
import { ModelFailure } from '#domain/models/model-gateway.ts';
import type { TurnOutcome } from '#domain/responses/commit-turn.ts';
import { MessageComposer } from '#domain/responses/message-composer.ts';
import type { RequestedCall } from '#domain/responses/plan-calls.ts';
import type { ClaimedTurn } from '#domain/responses/turn-claim.ts';
import type { Lane } from './stream-writer.ts';

/**
 * A response's stream holds at most 100,000 events: far below that, text begins to go out in larger pieces. What is
 * left is room for the pieces of the longest answer, its citations and its tools.
 */
const coarseFromN = 40_000;
const coarsePieceLength = 4_096;

type Finish = Extract<ModelPart, { type: 'finish' }>;

/** Calls the model and publishes its text as it comes. Tool calls wait for the commit, so none is half-published. */
export async function streamTurn(
  models: ModelGateway,
  turn: ClaimedTurn,
  lane: Lane,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const composer = new MessageComposer(turn.composer);
  const calls: RequestedCall[] = [];
  let finish: Finish | null = null;
  let text = '';
  for await (const part of models.stream(toRequest(turn), signal)) {
    switch (part.type) {
      case 'text':
        text += part.text;
        if (lane.length < coarseFromN || text.length >= coarsePieceLength) {
          lane.push(composer.text(text));
          text = '';
          await lane.ready();
        }
        break;
      case 'tool_call':
        calls.push({ name: cleanText(part.name), arguments: cleanText(part.arguments) });
        break;
      case 'finish':
        finish = part;
    }
  }
  signal.throwIfAborted();
  if (finish === null) {
    throw new ModelFailure('model_error', { retryable: true });
  }
  lane.push(composer.text(text));
  lane.push(composer.endOfText());
  await lane.drained();
  return { composer, calls, reason: finish.reason, usage: finish.usage, nextN: lane.nextN };
}

/** A forcing tool choice binds the first turn only, else the loop would never end. */
function toRequest(turn: ClaimedTurn): ModelRequest {
  const { settings } = turn;
  const forced = settings.tool_choice !== 'auto' && settings.tool_choice !== 'none';
  return {
    model: turn.model,
    messages: turn.messages,
    tools: settings.tools.map((tool) => toolDefinitions[tool.name]),
    toolChoice: forced && turn.iteration > 0 ? 'auto' : settings.tool_choice,
    parallelToolCalls: settings.parallel_tool_calls,
    maxOutputTokens: turn.maxOutputTokens,
    temperature: settings.temperature,
    topP: settings.top_p,
    reasoningEffort: settings.reasoning_effort,
    format: settings.format,
  };
}
