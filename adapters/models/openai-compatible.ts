import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type {
  ModelGateway,
  ModelPart,
  ModelRequest,
  PromptMessage,
  ToolChoice,
} from '#domain/models/model-gateway.ts';
import { toModelFailure } from './model-failures.ts';
import { withIdleLimit } from './idle-limit.ts';

export interface VendorOptions {
  fetch: typeof globalThis.fetch;
  /** The value of an environment variable that holds a vendor's key. */
  credential(ref: string): string | undefined;
}

/** Any server that speaks Chat Completions: Ollama, vLLM, LM Studio, a gateway. */
export function openAiCompatible(options: VendorOptions): ModelGateway {
  return {
    async *stream(request, signal) {
      try {
        const { model } = request;
        const apiKey = model.credentialRef === null ? undefined : options.credential(model.credentialRef);
        const provider = createOpenAICompatible({
          name: 'vendor',
          baseURL: model.baseUrl ?? '',
          includeUsage: true,
          supportsStructuredOutputs: true,
          fetch: options.fetch,
          ...(apiKey === undefined ? {} : { apiKey }),
        });
        const { stream } = await provider
          .chatModel(model.providerModel)
          .doStream(toCallOptions(request, signal));
        for await (const part of withIdleLimit(stream)) {
          yield* toParts(part);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw toModelFailure(error);
      }
    },
  };
}

function toCallOptions(request: ModelRequest, signal: AbortSignal): LanguageModelV4CallOptions {
  const { format } = request;
  return {
    prompt: request.messages.map(toVendorMessage),
    maxOutputTokens: request.maxOutputTokens,
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.topP === null ? {} : { topP: request.topP }),
    ...(format.type === 'text' ? {} : { responseFormat: jsonFormat(format) }),
    ...(request.tools.length === 0
      ? {}
      : { tools: request.tools.map(toVendorTool), toolChoice: toVendorChoice(request.toolChoice) }),
    providerOptions: {
      vendor: {
        ...(request.reasoningEffort === null ? {} : { reasoningEffort: request.reasoningEffort }),
        ...(request.tools.length === 0 ? {} : { parallel_tool_calls: request.parallelToolCalls }),
      },
    },
    abortSignal: signal,
  };
}

function jsonFormat(
  format: Exclude<ModelRequest['format'], { type: 'text' }>,
): NonNullable<LanguageModelV4CallOptions['responseFormat']> {
  return format.type === 'json_schema'
    ? { type: 'json', name: format.name, schema: format.schema }
    : { type: 'json' };
}

function toVendorTool(tool: ModelRequest['tools'][number]) {
  return {
    type: 'function' as const,
    name: tool.name,
    description: tool.description,
    inputSchema: tool.parameters,
  };
}

function toVendorChoice(choice: ToolChoice): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name };
}

function toVendorMessage(message: PromptMessage): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text };
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] };
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
          ...message.calls.map((call) => ({
            type: 'tool-call' as const,
            toolCallId: call.callId,
            toolName: call.name,
            input: parseArguments(call.arguments),
          })),
        ],
      };
    case 'tool':
      return {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: message.callId,
            toolName: message.name,
            output: { type: 'text', value: message.result },
          },
        ],
      };
  }
}

/** Arguments as the model once wrote them; what is not JSON goes back as an empty object. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function* toParts(part: LanguageModelV4StreamPart): Generator<ModelPart> {
  switch (part.type) {
    case 'text-delta':
      yield { type: 'text', text: part.delta };
      break;
    case 'tool-call':
      yield { type: 'tool_call', name: part.toolName, arguments: part.input };
      break;
    case 'error':
      throw part.error;
    case 'finish': {
      const { inputTokens, outputTokens } = part.usage;
      yield {
        type: 'finish',
        reason: finishReason(part.finishReason.unified),
        usage:
          inputTokens.total === undefined || outputTokens.total === undefined
            ? null
            : {
                inputTokens: inputTokens.total,
                cachedInputTokens: inputTokens.cacheRead ?? 0,
                outputTokens: outputTokens.total,
                reasoningTokens: outputTokens.reasoning ?? 0,
              },
      };
      break;
    }
    default:
  }
}

/** @throws an unfinished stream is the vendor's failure, not an answer */
function finishReason(unified: string): Extract<ModelPart, { type: 'finish' }>['reason'] {
  switch (unified) {
    case 'length':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    case 'tool-calls':
      return 'tool_calls';
    case 'stop':
      return 'stop';
    default:
      throw new Error('unfinished');
  }
}
