import { TokenGuard } from '#domain/governance/redaction/token-guard.ts';
import { knowledgeTool } from '#domain/knowledge/search/knowledge-definition.ts';
import type {
  ModelGateway,
  ModelPart,
  ModelRequest,
  ToolDefinition,
} from '#domain/capabilities/models/model-gateway.ts';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import type { TurnOutcome } from '#domain/responses/turn/commit-turn.ts';
import { MessageComposer } from '#domain/responses/stream/message-composer.ts';
import { firstModelTurn, type OfferedTool } from '#domain/responses/record/response-request.ts';
import { toolSearchTool } from '#domain/responses/offer/tool-search.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { TurnRecorder } from '#domain/responses/stream/turn-recorder.ts';
import type { Lane } from './stream-writer.ts';

/**
 * A response's stream holds at most 100,000 events: long before that, text is sent in larger pieces. The rest leaves
 * room for the pieces of the longest answer, its citations and its tools.
 */
const coarseFromN = 40_000;
const coarsePieceLength = 4_096;

type Finish = Extract<ModelPart, { type: 'finish' }>;

export interface TurnHooks {
  lane: Lane;
  signal: AbortSignal;
  /** Saves the id of the vendor's own run, so that a later attempt can read it again. */
  saveRunId: (id: string) => Promise<void>;
}

/**
 * Calls the model and publishes its text as it arrives, after the reasoning that led to it. Tool calls wait for the
 * commit, so none is half-published.
 */
export async function streamTurn(
  models: ModelGateway,
  turn: ClaimedTurn,
  { lane, signal, saveRunId }: TurnHooks,
): Promise<TurnOutcome> {
  const composer = new MessageComposer(turn.composer);
  const recorder = new TurnRecorder({
    ...turn.model,
    turn: turn.iteration,
    summary: turn.settings.reasoning_summary,
  });
  const guard = turn.settings.redaction === undefined ? null : new TokenGuard();
  let finish: Finish | null = null;
  let text = '';
  for await (const part of models.stream(toRequest(turn), signal)) {
    recorder.take(part);
    switch (part.type) {
      case 'run':
        await saveRunId(part.id);
        break;
      case 'text':
        composer.reasoning(recorder.drainReasoned());
        text += guard === null ? part.text : guard.push(part.text);
        if (lane.length < coarseFromN || text.length >= coarsePieceLength) {
          lane.push(composer.text(text));
          text = '';
          await lane.ready();
        }
        break;
      case 'finish':
        finish = part;
        break;
      default:
    }
  }
  signal.throwIfAborted();
  if (finish === null) {
    throw new ModelFailure('model_error', { retryable: true });
  }
  lane.push(composer.text(text + (guard?.end() ?? '')));
  lane.push(composer.endOfText());
  composer.reasoning(recorder.drainReasoned());
  const rest = await lane.rest();
  const { calls, textState } = recorder;
  return {
    composer,
    calls,
    textState,
    reason: finish.reason,
    usage: finish.usage,
    rest,
    nextN: lane.nextN,
  };
}

/** A forcing tool choice applies to the first turn only, else the loop would never end. */
function toRequest(turn: ClaimedTurn): ModelRequest {
  const { settings } = turn;
  const forced = settings.tool_choice !== 'auto' && settings.tool_choice !== 'none';
  const first = turn.iteration <= firstModelTurn(settings);
  const tools = settings.tools.filter(
    ({ name }) => !first || settings.forced_tools === null || settings.forced_tools.includes(name),
  );
  return {
    tenantId: turn.tenantId,
    model: turn.model,
    messages: turn.messages,
    tools: tools.map(toDefinition),
    toolChoice: forced && !first ? 'auto' : settings.tool_choice,
    parallelToolCalls: settings.parallel_tool_calls,
    maxOutputTokens: turn.maxOutputTokens,
    temperature: settings.temperature,
    topP: settings.top_p,
    reasoningEffort: settings.reasoning_effort,
    reasoningSummary: settings.reasoning_summary,
    resume: turn.resume,
    format: settings.format,
  };
}

function toDefinition(tool: OfferedTool): ToolDefinition {
  switch (tool.type) {
    case 'knowledge_search':
      return knowledgeTool;
    case 'tool_search':
      return toolSearchTool(tool);
    default:
      return tool;
  }
}
