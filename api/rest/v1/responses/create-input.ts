import type { CreateResponseBody } from '#api/contract/responses.ts';
import { requireUser, toInputContent } from './input-content.ts';
import { fingerprintOf, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError, invalid, unsupported } from '#domain/foundation/kernel/errors.ts';
import type { CreateResponseInput, InputItem, RequestedTool } from '#domain/responses/record/create-input.ts';
import { toOffered, toPattern, toToolChoice, toToolItem } from './tool-input.ts';

export interface CreateRequest {
  spaceId: string;
  body: CreateResponseBody;
  /** `Idempotency-Key`. */
  headerKey: string | undefined;
  /** Method and path with its ids, without the mount prefix. */
  scope: string;
  /** Unlike the default: the content is deleted soon after the end. */
  store?: boolean;
  background?: boolean;
  plain?: boolean;
  unsupportedTools?: readonly string[];
}

/** Wire to use case: resolves the alternatives of the contract, refuses unimplemented ones. */
export function toCreateInput(request: CreateRequest): CreateResponseInput {
  const { spaceId, body, headerKey, scope, store = true, background = false } = request;
  const { plain = false, unsupportedTools = [] } = request;
  const platform: NonNullable<CreateResponseBody['platform']> = body.platform ?? {};
  rejectMissingFeatures(body);
  const asked = { ...body, stream: undefined, idempotency_key: undefined };
  const fingerprint = fingerprintOf(store ? asked : { ...asked, store });
  return {
    spaceId,
    input: toItems(body.input),
    modelAlias: typeof body.model === 'object' ? (body.model?.alias ?? null) : (body.model ?? null),
    tools: body.tools?.map(toTool) ?? null,
    plain,
    unsupportedTools,
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
    thread: toThread(platform),
    skillId: platform.skill_id ?? null,
    store,
    background,
    fingerprint,
    idempotency: toIdempotency(body, headerKey, { scope, fingerprint }),
  };
}

/** @throws `invalid_request` for a branch without a thread */
function toThread({
  thread_id: threadId,
  branch_id: branchId = null,
}: NonNullable<CreateResponseBody['platform']>): CreateResponseInput['thread'] {
  if (threadId == null && branchId !== null) {
    throw invalid('platform.branch_id', 'branch_id needs the thread_id of its thread.');
  }
  return threadId == null ? null : { threadId, branchId };
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

function rejectMissingFeatures(body: CreateResponseBody): void {
  if (body.conversation != null) {
    throw unsupported('conversation');
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
        return toMessage(item);
      }
      if (item.type === 'item_reference' && 'id' in item) {
        return { type: 'item_reference', id: item.id };
      }
      if (item.type === 'reasoning' && 'summary' in item) {
        const { id, summary } = item;
        return { type: 'reasoning', id: id ?? null, summary };
      }
      return toToolItem(item);
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

type AskedTool = NonNullable<CreateResponseBody['tools']>[number];

function toTool(tool: AskedTool, index: number): RequestedTool {
  if (typeof tool === 'string') {
    return toPattern(tool);
  }
  if (tool.type === 'function' || tool.type === 'mcp') {
    return toOffered(tool, index);
  }
  return {
    type: 'knowledge_search',
    collectionIds: tool.collection_ids ?? tool.vector_store_ids ?? null,
    maxNumResults: tool.max_num_results ?? null,
    alpha: tool.alpha ?? null,
    ...(tool.rerank === undefined ? {} : { rerank: tool.rerank }),
  };
}
