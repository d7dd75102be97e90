import { DomainError, invalid, type FieldError } from '#domain/foundation/kernel/errors.ts';
import { definitionDifference } from './definition-difference.ts';
import type { ServerWithTools } from './find-server.ts';
import type { McpTool } from './mcp-tool.entity.ts';

export interface EnabledTool {
  /** The tool's own name, or `*`. */
  name: string;
  /** Of the definition that the caller has seen and approves. */
  schemaHash?: string | undefined;
  /** null: as its annotations say. */
  requireApproval?: boolean | null | undefined;
}

/** Max differences shown for a conflict. */
const maxShown = 20;

/**
 * Enables exactly these tools. A definition is approved by its hash; an enabled tool that has changed stays withheld
 * until then. `*` approves tools that were never approved before, and no change.
 * @throws `invalid_request` naming unknown tools, `tool_definition_conflict`
 */
export function enableTools({ server, tools }: ServerWithTools, wanted: readonly EnabledTool[]): void {
  const all = wanted.some(({ name }) => name === '*');
  const plain = wanted.filter(({ name, schemaHash }) => name !== '*' && schemaHash === undefined);
  if (all && plain.length > 0) {
    throw invalid(
      'enabled_tools',
      'enabled_tools is a list of names, or "*" and the definitions it approves.',
    );
  }
  const present = new Map(
    tools.flatMap((tool) => (tool.state === 'removed' ? [] : [[tool.name, tool] as const])),
  );
  const unknown = wanted.filter(({ name }) => name !== '*' && !present.has(name));
  if (unknown.length > 0) {
    const names = unknown.slice(0, maxShown).map(({ name }) => name);
    throw invalid('enabled_tools', `Unknown tools: ${names.join(', ')}.`);
  }
  const before = new Set([...present.keys()].filter((name) => server.enables(name)));
  server.enabledTools = all ? ['*'] : [...new Set(wanted.map(({ name }) => name))];
  const conflicts: Conflict[] = [];
  for (const [index, { name, schemaHash, requireApproval }] of wanted.entries()) {
    const tool = present.get(name);
    if (tool === undefined) {
      continue;
    }
    if (schemaHash === tool.schemaHash) {
      tool.approve();
    } else if (schemaHash !== undefined || !(tool.isAsApproved() || before.has(name))) {
      conflicts.push({
        index,
        tool,
        code: `schema_hash_${schemaHash === undefined ? 'required' : 'mismatch'}`,
      });
    }
    tool.requireApproval = requireApproval === undefined ? (tool.requireApproval ?? null) : requireApproval;
  }
  if (conflicts.length > 0) {
    throw definitionConflict(conflicts);
  }
  for (const tool of present.values()) {
    applySetting(tool, { enabled: server.enables(tool.name), all });
  }
}

/** An approval outlasts disabling the tool; it covers one definition all the same. */
function applySetting(tool: McpTool, { enabled, all }: { enabled: boolean; all: boolean }): void {
  if (!enabled) {
    tool.state = 'new';
  } else if (tool.isAsApproved()) {
    tool.state = 'approved';
  } else if (all && tool.approvedHash == null) {
    tool.approve();
  } else {
    tool.state = 'changed';
  }
}

interface Conflict {
  index: number;
  tool: McpTool;
  code: string;
}

function definitionConflict(conflicts: readonly Conflict[]): DomainError {
  const shown = conflicts.slice(0, maxShown);
  return new DomainError(
    'tool_definition_conflict',
    'A tool is approved by the schema_hash of its present definition. Look at what is there now, and name it.',
    {
      param: 'enabled_tools',
      errors: shown.map(({ index, code }): FieldError => ({
        in: 'body',
        pointer: `/enabled_tools/${index}`,
        code,
        message:
          code === 'schema_hash_required'
            ? 'must name the schema_hash of the definition that is approved'
            : 'names another definition than the tool has now',
      })),
      definitions: shown.map(({ tool }) => ({
        name: tool.name,
        schemaHash: tool.schemaHash,
        difference: definitionDifference(tool, shown.length),
      })),
    },
  );
}
