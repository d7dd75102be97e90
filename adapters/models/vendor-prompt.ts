import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  ModelRequest,
  OpaqueState,
  PromptMessage,
  PromptPart,
  ToolChoice,
} from '#domain/capabilities/models/model-gateway.ts';

export interface Prompting {
  /** The provider accepts system messages at the beginning only: later messages are moved there. */
  systemFirst: boolean;
  /** Media that a tool result may hold beside text. The packages of other kinds send media as text, or not at all. */
  resultFiles: readonly ('image' | 'audio')[];
  /** Reasoning is sent back only with the calls that it led to. */
  reasoningWithCallsOnly: boolean;
}

type Assistant = Extract<PromptMessage, { role: 'assistant' }>;
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/** Converts a request to the call options that all providers share. */
export function toCallOptions(request: ModelRequest, prompting: Prompting): LanguageModelV4CallOptions {
  const { format } = request;
  const messages = prompting.systemFirst ? systemFirst(request.messages) : request.messages;
  return {
    prompt: messages.map((message) => toVendorMessage(message, prompting)),
    maxOutputTokens: request.maxOutputTokens,
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.topP === null ? {} : { topP: request.topP }),
    ...(format.type === 'text' ? {} : { responseFormat: jsonFormat(format) }),
    ...(request.tools.length === 0
      ? {}
      : { tools: request.tools.map(toVendorTool), toolChoice: toVendorChoice(request.toolChoice) }),
  };
}

function systemFirst(messages: readonly PromptMessage[]): PromptMessage[] {
  return messages.toSorted((a, b) => Number(a.role !== 'system') - Number(b.role !== 'system'));
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

function toVendorMessage(message: PromptMessage, prompting: Prompting): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text };
    case 'user':
      return {
        role: 'user',
        content: (message.parts ?? [{ type: 'text', text: message.text }]).map(toVendorPart),
      };
    case 'assistant':
      return { role: 'assistant', content: toAssistantContent(message, prompting) };
    case 'tool':
      return {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: message.callId,
            toolName: message.name,
            output: toVendorResult(message, prompting),
          },
        ],
      };
  }
}

function toVendorResult(
  { result, files = [] }: Extract<PromptMessage, { role: 'tool' }>,
  { resultFiles }: Prompting,
): LanguageModelV4ToolResultOutput {
  const shown = files.filter(({ mediaType }) => resultFiles.some((kind) => mediaType.startsWith(`${kind}/`)));
  return shown.length === 0
    ? { type: 'text', value: result }
    : {
        type: 'content',
        value: [
          { type: 'text', text: result },
          ...shown.map(({ mediaType, data }) => ({
            type: 'file' as const,
            mediaType,
            data: { type: 'data' as const, data },
          })),
        ],
      };
}

function toVendorPart(part: PromptPart): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') {
    return part;
  }
  return {
    type: 'file',
    mediaType: part.mediaType,
    data: { type: 'data', data: part.data },
    ...(part.filename === null ? {} : { filename: part.filename }),
    // Read by the OpenAI package only; others ignore it.
    ...(part.detail === null ? {} : { providerOptions: { openai: { imageDetail: part.detail } } }),
  };
}

function toAssistantContent(message: Assistant, prompting: Prompting): AssistantContent {
  const withReasoning = !prompting.reasoningWithCallsOnly || message.calls.length > 0;
  return [
    ...(withReasoning ? (message.reasoning ?? []) : []).map(({ text, state }) => ({
      type: 'reasoning' as const,
      text,
      providerOptions: asOptions(state),
    })),
    ...(message.text === ''
      ? []
      : [{ type: 'text' as const, text: message.text, ...optionsOf(message.state) }]),
    ...message.calls.map((call) => ({
      type: 'tool-call' as const,
      toolCallId: call.callId,
      toolName: call.name,
      input: parseArguments(call.arguments),
      ...optionsOf(call.state),
    })),
  ];
}

function optionsOf(state: OpaqueState | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return state === undefined ? {} : { providerOptions: asOptions(state) };
}

/** Opaque state is stored as the package's metadata and returned as its options, without interpretation. */
function asOptions(state: OpaqueState): SharedV4ProviderOptions {
  return state as SharedV4ProviderOptions;
}

/** Arguments as the model wrote them; text that is not JSON is sent back as an empty object. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
