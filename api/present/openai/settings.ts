import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import type { TextFormat } from '#domain/capabilities/models/model-gateway.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';

/** An offered tool of any kind; its members depend on `type`. */
interface Offered {
  type: string;
  name: string;
  description?: string | null | undefined;
  parameters?: unknown;
  strict?: boolean | null | undefined;
  collection_ids?: string[] | null | undefined;
  max_num_results?: number | undefined;
  server_label?: string | undefined;
  tool?: string | undefined;
  require_approval?: boolean | undefined;
}

type Tool = OpenAiResponse['tools'][number];

/**
 * Maps search to OpenAI's `file_search`, the tools of a connected server to one `mcp`, client-side tools to `function`.
 */
export function presentTools(offered: readonly Offered[]): Tool[] {
  const servers = Map.groupBy(
    offered.filter(({ type }) => type === 'mcp'),
    ({ server_label: label }) => label ?? '',
  );
  return [
    ...offered.flatMap((tool) =>
      tool.type === 'mcp' || tool.type === 'tool_search' ? [] : [presentTool(tool)],
    ),
    ...[...servers].map(([label, tools]) => presentServer(label, tools)),
  ];
}

function presentTool(tool: Offered): Tool {
  return tool.type === 'knowledge_search'
    ? {
        type: 'file_search',
        vector_store_ids: tool.collection_ids ?? [],
        max_num_results: tool.max_num_results,
      }
    : {
        type: 'function',
        name: tool.name,
        description: tool.description ?? null,
        parameters: tool.parameters ?? null,
        strict: tool.strict ?? null,
      };
}

function presentServer(label: string, tools: readonly Offered[]): Tool {
  const names = tools.map(({ tool, name }) => tool ?? name);
  const asked = tools.flatMap(({ tool, name, require_approval: asks }) =>
    asks === true ? [tool ?? name] : [],
  );
  return {
    type: 'mcp',
    server_label: label,
    allowed_tools: names,
    require_approval: asked.length === 0 ? 'never' : { always: { tool_names: asked } },
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

const connected = 'mcp__';
const parted = '__';

function choiceOf(tool: string): { type: string; [member: string]: unknown } {
  if (tool === 'knowledge_search') {
    return { type: 'file_search' };
  }
  const end = tool.startsWith(connected) ? tool.indexOf(parted, connected.length + 1) : -1;
  const name = tool.slice(end + parted.length);
  return end === -1 || name === ''
    ? { type: 'function', name: tool }
    : { type: 'mcp', server_label: tool.slice(connected.length, end), name };
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
