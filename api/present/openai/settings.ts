import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import type { TextFormat } from '#domain/models/model-gateway.ts';
import type { ResponseRequest } from '#domain/responses/response-request.ts';

/** An offered tool, of whatever kind; which members there are depends on `type`. */
interface Offered {
  type: string;
  name: string;
  description?: string | null | undefined;
  parameters?: unknown;
  strict?: boolean | null | undefined;
  collection_ids?: string[] | null | undefined;
  max_num_results?: number | undefined;
}

const connected = /^mcp__(.+?)__(.+)$/;

/** Search is OpenAI's `file_search`, a tool of a connected server its `mcp`, whatever the client runs a `function`. */
export function presentTool(tool: Offered): OpenAiResponse['tools'][number] {
  const [, server, name] = connected.exec(tool.name) ?? [];
  if (tool.type === 'knowledge_search') {
    return {
      type: 'file_search',
      vector_store_ids: tool.collection_ids ?? [],
      max_num_results: tool.max_num_results,
    };
  }
  if (server !== undefined && name !== undefined) {
    return { type: 'mcp', server_label: server, allowed_tools: [name], require_approval: 'never' };
  }
  return {
    type: 'function',
    name: tool.name,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? null,
  };
}

export function presentToolChoice(
  request: Pick<ResponseRequest, 'tool_choice' | 'allowed_tools'>,
): OpenAiResponse['tool_choice'] {
  const { tool_choice: choice, allowed_tools: allowed } = request;
  if (typeof choice !== 'string') {
    return choiceOf(choice.name);
  }
  return allowed === null
    ? choice
    : { type: 'allowed_tools', mode: choice, tools: allowed.map((name) => choiceOf(name)) };
}

function choiceOf(tool: string): { type: string; [member: string]: unknown } {
  const [, server, name] = connected.exec(tool) ?? [];
  if (tool === 'knowledge_search') {
    return { type: 'file_search' };
  }
  return server === undefined
    ? { type: 'function', name: tool }
    : { type: 'mcp', server_label: server, name };
}

export function presentTextFormat(format: TextFormat): OpenAiResponse['text']['format'] {
  return format.type === 'json_schema'
    ? {
        type: 'json_schema',
        name: format.name,
        description: null,
        schema: format.schema,
        strict: format.strict ?? false,
      }
    : format;
}
