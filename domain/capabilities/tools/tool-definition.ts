import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { withoutHidden, type HiddenKind } from '#domain/foundation/kernel/hidden-text.ts';
import type { DiscoveredTool } from './tool-server.ts';

/** A tool's definition without its name, in the form that people and models see. */
export interface ToolDefinition {
  title: string | null;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown> | null;
  annotations: Record<string, unknown> | null;
  hiddenCharacters: HiddenPlace[];
}

/** Hidden characters that were removed: kind, number and place (a JSON pointer). */
export interface HiddenPlace {
  where: string;
  kind: HiddenKind;
  count: number;
}

type Nullish<T> = { [K in keyof T]: null extends T[K] ? T[K] | undefined : T[K] };

/** The definition in a stored row, where missing members are undefined. */
export function definitionOf(
  tool: Partial<Nullish<ToolDefinition>> &
    Pick<ToolDefinition, 'description' | 'inputSchema' | 'hiddenCharacters'>,
): ToolDefinition {
  const { title, description, inputSchema, outputSchema, annotations, hiddenCharacters } = tool;
  return {
    title: title ?? null,
    description,
    inputSchema,
    outputSchema: outputSchema ?? null,
    annotations: annotations ?? null,
    hiddenCharacters,
  };
}

const maxDepth = 64;
const maxNameLength = 256;
const maxPlaces = 32;
const maxPointerLength = 256;

/** Whether a tool can be named, stored and shown. */
export function isUsable({ name, inputSchema, outputSchema, annotations }: DiscoveredTool): boolean {
  return (
    name !== '' && name.length <= maxNameLength && ![inputSchema, outputSchema, annotations].some(isTooDeep)
  );
}

/**
 * Whether a part of a definition is nested too deeply. Iterates level by level, because recursion would overflow the
 * stack.
 */
export function isTooDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; depth <= maxDepth; depth += 1) {
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? (Object.values(each) as unknown[]) : [],
    );
    if (level.length === 0) {
      return false;
    }
  }
  return true;
}

/** The definition without hidden characters, in a form that the database can store. The name stays: calls use it. */
export function cleanDefinition(tool: DiscoveredTool): ToolDefinition {
  const places: HiddenPlace[] = [];
  const cleanString = (text: string, where: string): string => {
    const { text: kept, found } = withoutHidden(cleanText(text));
    for (const [kind, count] of found) {
      if (places.length < maxPlaces) {
        places.push({ where: where.slice(0, maxPointerLength), kind, count });
      }
    }
    return kept;
  };
  const clean = (value: unknown, where: string): unknown => {
    if (typeof value === 'string') {
      return cleanString(value, where);
    }
    if (Array.isArray(value)) {
      return value.map((each, index) => clean(each, `${where}/${index}`));
    }
    return typeof value === 'object' && value !== null ? cleanMembers(value, where) : value;
  };
  const cleanMembers = (value: object, where: string): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const name = withoutHidden(cleanText(key)).text;
        const place = `${where}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        cleanString(key, place);
        return [name, clean(member, place)];
      }),
    );
  cleanString(tool.name, '/name');
  return {
    title: tool.title === null ? null : cleanString(tool.title, '/title'),
    description: cleanString(tool.description, '/description'),
    inputSchema: cleanMembers(tool.inputSchema, '/input_schema'),
    outputSchema: tool.outputSchema === null ? null : cleanMembers(tool.outputSchema, '/output_schema'),
    annotations: tool.annotations === null ? null : cleanMembers(tool.annotations, '/annotations'),
    hiddenCharacters: places,
  };
}
