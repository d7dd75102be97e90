import { invalid } from '#domain/foundation/kernel/errors.ts';
import type { ToolChoice } from '#domain/capabilities/models/model-gateway.ts';
import type { CreateResponseInput, NamedTool } from '#domain/responses/record/create-input.ts';
import type { OfferedTool } from '#domain/responses/record/response-request.ts';
import type { FittedTool } from './share-room.ts';

export interface ResolvedToolChoice {
  toolChoice: ToolChoice;
  /** Enforced on every call. */
  allowed: string[] | null;
  /** The tools offered in the first turn, if any one of several is forced. */
  forced: string[] | null;
}

/** @throws `invalid_request` if the choice names a tool that is not offered */
export function resolveToolChoice(
  input: CreateResponseInput,
  tools: readonly OfferedTool[],
): ResolvedToolChoice {
  const choice = input.toolChoice;
  if (input.toolMode === 'none' && choice !== 'auto' && choice !== 'none') {
    throw invalid('tool_choice', 'tool_mode none allows no other tool_choice than none.');
  }
  if (choice === 'auto' || choice === 'none') {
    return { toolChoice: choice, allowed: null, forced: null };
  }
  if (choice === 'required') {
    if (tools.length === 0) {
      throw invalid('tool_choice', 'No tool is offered that could be required.');
    }
    return { toolChoice: 'required', allowed: null, forced: null };
  }
  if (choice.type === 'allowed_tools') {
    const allowed = [...new Set(choice.tools.flatMap((tool) => namesOf(tool, tools)))];
    return { toolChoice: choice.mode, allowed, forced: null };
  }
  const [name = '', ...more] = namesOf(choice, tools);
  return more.length === 0
    ? { toolChoice: { name }, allowed: null, forced: null }
    : { toolChoice: 'required', allowed: null, forced: [name, ...more] };
}

/** The offered tools that a choice matches, at least one. */
function namesOf(wanted: NamedTool, tools: readonly OfferedTool[]): string[] {
  const meant = tools.filter((tool) => matchesChoice(wanted, tool));
  if (meant.length === 0) {
    throw invalid('tool_choice', 'tool_choice names a tool that is not offered.');
  }
  return meant.map(({ name }) => name);
}

export function matchesChoice(wanted: NamedTool, tool: OfferedTool | FittedTool): boolean {
  switch (wanted.type) {
    case 'knowledge_search':
      return tool.type === 'knowledge_search';
    case 'function':
      return tool.name === wanted.name;
    case 'mcp':
      return (
        tool.type === 'mcp' &&
        tool.server_label === wanted.serverLabel &&
        (wanted.name === null || wanted.name === tool.tool || wanted.name === tool.name)
      );
  }
}
