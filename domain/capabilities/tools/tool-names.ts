import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';

/** Without underscores, so that `mcp__<slug>__<tool>` splits in one way only. */
export const slugPattern = /^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$/;

/** Max length of a function's name at model vendors. */
const maxNameLength = 64;

/**
 * `mcp__<slug>__<tool>`; a tool part that is too long or has other characters is replaced by its prefix and a digest.
 */
export function exposedName(slug: string, tool: string): string {
  const head = `mcp__${slug}__`;
  const room = maxNameLength - head.length;
  const clean = tool.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return clean === tool && tool.length <= room && tool !== ''
    ? head + tool
    : `${head}${clean.slice(0, room - 7)}-${sha256(tool).slice(0, 6)}`;
}

export type ToolPattern =
  | { kind: 'knowledge' }
  /** One tool of a server by its exposed name, or (`tool` null) all enabled tools. */
  | { kind: 'mcp'; slug: string; tool: string | null };

/** Parses `knowledge_search`, `mcp__<slug>__<tool>` or `mcp__<slug>__*`. Null: anything else, such as `*` alone. */
export function parsePattern(text: string): ToolPattern | null {
  if (text === 'knowledge_search' || text === 'file_search') {
    return { kind: 'knowledge' };
  }
  const [, slug = '', tool = ''] = /^mcp__([a-z0-9-]+)__(\*|[A-Za-z0-9_-]+)$/.exec(text) ?? [];
  if (!slugPattern.test(slug)) {
    return null;
  }
  return { kind: 'mcp', slug, tool: tool === '*' ? null : text };
}
