import type { CreateResponseBody } from '#api/contract/responses.ts';
import { requireUser, toInputContent } from './input-content.ts';
import { fingerprintOf, type IdempotentRequest } from '#domain/idempotency/idempotency.ts';
import { DomainError, unsupported } from '#domain/kernel/errors.ts';
import type {
  CreateResponseInput,
  InputItem,
  RequestedTool,
  RequestedToolChoice,
} from '#domain/responses/create-input.ts';

export interface CreateRequest {
  spaceId: string;
  body: CreateResponseBody;
  /** `Idempotency-Key`. */
  headerKey: string | undefined;
  /** Method and path with its ids, without the prefix it came by. */
  scope: string;
}

/** Wire to use case: resolves the alternatives that the contract leaves open, refuses what does not exist yet. */
export function toCreateInput({ spaceId, body, headerKey, scope }: CreateRequest): CreateResponseInput {
  const platform: NonNullable<CreateResponseBody['platform']> = body.platform ?? {};
  refuseMissingFeatures(body);
  const fingerprint = fingerprintOf({ ...body, stream: undefined, idempotency_key: undefined });
  return {
    spaceId,
    input: toItems(body.input),
    modelAlias: typeof body.model === 'object' ? (body.model?.alias ?? null) : (body.model ?? null),
    tools: body.tools?.map(toTool) ?? null,
    toolChoice: toToolChoice(body.tool_choice ?? 'auto'),
    toolMode: body.tool_mode,
    maxOutputTokens: body.max_output_tokens ?? null,
    reasoningEffort: body.reasoning?.effort ?? null,
    reasoningSummary: body.reasoning?.summary ?? null,
    previousResponseId: body.previous_response_id ?? null,
    metadata: body.metadata ?? null,
    instructions: platform.instructions ?? null,
    format: platform.text?.format ?? { type: 'text' },
    temperature: platform.temperature ?? null,
    topP: platform.top_p ?? null,
    parallelToolCalls: platform.parallel_tool_calls ?? true,
    include: platform.include ?? [],
    maxIterations: platform.max_iterations ?? null,
    maxToolCalls: platform.max_tool_calls ?? null,
    maxCostUsd: platform.max_cost_usd ?? null,
    timeoutSeconds: platform.timeout_seconds ?? null,
    onBusy: platform.on_busy ?? 'reject',
    onGenerationLoss: platform.on_generation_loss ?? 'continue',
    onUnknownToolOutcome: platform.on_unknown_tool_outcome ?? 'report',
    streamGranularity: platform.stream_granularity ?? 'token',
    streamEvents: platform.stream_events ?? false,
    collectionIds: platform.collection_ids ?? null,
    fingerprint,
    idempotency: toIdempotency(body, headerKey, { scope, fingerprint }),
  };
}

function toIdempotency(
  body: CreateResponseBody,
  headerKey: string | undefined,
  rest: Omit<IdempotentRequest, 'key'>,
): IdempotentRequest | null {
  const bodyKey = body.idempotency_key ?? undefined;
  if (headerKey !== undefined && bodyKey !== undefined && headerKey !== bodyKey) {
    throw new DomainError('idempotency_key_conflict', 'Idempotency-Key and idempotency_key differ.', {
      param: 'idempotency_key',
    });
  }
  const key = headerKey ?? bodyKey;
  return key === undefined ? null : { key, ...rest };
}

function refuseMissingFeatures(body: CreateResponseBody): void {
  if (body.conversation != null) {
    throw unsupported('conversation');
  }
  for (const name of ['skill_id', 'thread_id'] as const) {
    if (body.platform?.[name] != null) {
      throw unsupported(`platform.${name}`);
    }
  }
}

function toItems(input: CreateResponseBody['input']): InputItem[] {
  if ('text' in input) {
    return [{ type: 'message', role: 'user', text: input.text }];
  }
  if ('messages' in input) {
    return input.messages.map((message) => toMessage(message));
  }
  if ('items' in input) {
    return input.items.map((item): InputItem => {
      if ('role' in item && 'content' in item) {
        return toMessage(item as Message);
      }
      if (item.type === 'item_reference' && 'id' in item) {
        return { type: 'item_reference', id: item.id };
      }
      if (item.type === 'reasoning' && 'summary' in item) {
        const { id, summary } = item;
        return { type: 'reasoning', id: id ?? null, summary };
      }
      throw unsupported('input', `Items of type ${item.type} are not supported.`);
    });
  }
  return [toMessage(input)];
}

type Message = Extract<CreateResponseBody['input'], { role: string }>;

function toMessage({ role, content }: Message): InputItem {
  if (typeof content === 'string') {
    return { type: 'message', role, text: content };
  }
  const parts = content.map(toInputContent);
  const text = parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('');
  return parts.every((part) => 'text' in part)
    ? { type: 'message', role, text }
    : { type: 'message', role: requireUser(role), text, content: parts };
}

type SearchTool = Extract<
  NonNullable<CreateResponseBody['tools']>[number],
  { type: 'knowledge_search' | 'file_search' }
>;

function toTool(tool: NonNullable<CreateResponseBody['tools']>[number]): RequestedTool {
  if (typeof tool === 'string') {
    if (tool === 'knowledge_search') {
      return { type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null };
    }
    throw unsupported('tools', 'Connected tool servers are not supported.');
  }
  if (tool.type === 'function' || tool.type === 'mcp') {
    throw unsupported('tools', `Tools of type ${tool.type} are not supported.`);
  }
  const search = tool as SearchTool;
  return {
    type: 'knowledge_search',
    collectionIds: search.collection_ids ?? search.vector_store_ids ?? null,
    maxNumResults: search.max_num_results ?? null,
    alpha: search.alpha ?? null,
  };
}

function toToolChoice(choice: NonNullable<CreateResponseBody['tool_choice']>): RequestedToolChoice {
  if (typeof choice === 'string') {
    return choice;
  }
  switch (choice.type) {
    case 'knowledge_search':
    case 'file_search':
      return { type: 'knowledge_search' };
    case 'allowed_tools': {
      const { mode, tools } = choice;
      const names = tools
        .map((tool) => tool.name ?? tool.type)
        .map((name) => (name === 'file_search' ? 'knowledge_search' : name));
      return { type: 'allowed_tools', mode, names };
    }
    case 'function':
    case 'mcp':
      throw unsupported('tool_choice', `A tool_choice of type ${choice.type} is not supported.`);
  }
}
