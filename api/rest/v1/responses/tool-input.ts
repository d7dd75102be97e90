import type { OfferedTool, ToolChoice, ToolInputItem as WireItem } from '#api/contract/tool-requests.ts';
import { invalid, unsupported } from '#domain/foundation/kernel/errors.ts';
import type {
  NamedTool,
  RequestedTool,
  RequestedToolChoice,
  ToolInputItem,
} from '#domain/responses/record/create-input.ts';
import { parsePattern } from '#domain/capabilities/tools/tool-names.ts';

/** `knowledge_search`, `mcp__<slug>__<tool>` or `mcp__<slug>__*`. */
export function toPattern(text: string): RequestedTool {
  const pattern = parsePattern(text);
  if (pattern === null) {
    throw invalid('tools', 'A tool is named knowledge_search, mcp__<slug>__<tool> or mcp__<slug>__*.');
  }
  return pattern.kind === 'knowledge'
    ? { type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null }
    : { type: 'pattern', slug: pattern.slug, tool: pattern.tool };
}

const anything = { type: 'object', properties: {} };

export function toOffered(tool: OfferedTool, index: number): RequestedTool {
  if (tool.type === 'function') {
    return {
      type: 'function',
      name: tool.name,
      description: tool.description ?? '',
      parameters: tool.parameters ?? anything,
    };
  }
  for (const member of ['server_url', 'authorization', 'headers', 'connector_id'] as const) {
    if (tool[member] != null) {
      throw unsupported(`tools.${index}.${member}`, 'Only tool servers of the space can be used.');
    }
  }
  return {
    type: 'mcp',
    serverLabel: tool.server_label,
    allowedTools: namesOf(tool.allowed_tools),
    requireApproval: approvals(tool.require_approval),
  };
}

function namesOf(names: Extract<OfferedTool, { type: 'mcp' }>['allowed_tools']): string[] | null {
  return Array.isArray(names) ? names : (names?.tool_names ?? null);
}

/** A caller may require more approvals than the space does, never fewer. */
function approvals(policy: Extract<OfferedTool, { type: 'mcp' }>['require_approval']): 'all' | string[] {
  if (policy == null || policy === 'never') {
    return [];
  }
  return policy === 'always' ? 'all' : (policy.always?.tool_names ?? []);
}

export function toToolChoice(choice: ToolChoice): RequestedToolChoice {
  if (typeof choice === 'string') {
    return choice;
  }
  return choice.type === 'allowed_tools'
    ? { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(toNamed) }
    : toNamed(choice);
}

function toNamed(tool: {
  type: string;
  name?: string | null | undefined;
  server_label?: string | undefined;
}): NamedTool {
  switch (tool.type) {
    case 'knowledge_search':
    case 'file_search':
      return { type: 'knowledge_search' };
    case 'function':
      return { type: 'function', name: tool.name ?? '' };
    case 'mcp':
      return { type: 'mcp', serverLabel: tool.server_label ?? '', name: tool.name ?? null };
    default:
      throw invalid('tool_choice', 'A tool is of type function, mcp, knowledge_search or file_search.');
  }
}

export function toToolItem(item: WireItem): ToolInputItem {
  switch (item.type) {
    case 'function_call':
      return { type: item.type, callId: item.call_id, name: item.name, arguments: item.arguments };
    case 'function_call_output': {
      const { output } = item;
      const text = typeof output === 'string' ? output : output.map((part) => part.text).join('');
      return { type: item.type, callId: item.call_id, output: text };
    }
    case 'mcp_approval_response': {
      const { approval_request_id: approvalRequestId, approve, reason } = item;
      return { type: item.type, approvalRequestId, approve, reason: reason ?? null };
    }
  }
}
