import { toRecord } from './tool-result.ts';

/** Max values of a result that are compared; the rest counts as matching. */
const maxSteps = 10_000;
const deepest = 64;

/**
 * Whether a result's structured content plainly contradicts the tool's `outputSchema`. Schemas come from outside, so
 * none is compiled and none of their patterns runs: types, required members, items, constants and enumerations of
 * scalars are compared, in time that is linear in the result and bounded; other keywords are ignored. A result is
 * accepted whatever this check returns.
 */
export function misfitOf(
  outputSchema: Record<string, unknown> | null | undefined,
  result: Record<string, unknown>,
): 'missing' | 'different' | null {
  if (outputSchema == null || result['isError'] === true) {
    return null;
  }
  const structured = result['structuredContent'];
  if (structured === undefined) {
    return 'missing';
  }
  const left = { steps: maxSteps };
  return fits(outputSchema, structured, { left, depth: 0 }) ? null : 'different';
}

interface Place {
  left: { steps: number };
  depth: number;
}

function fits(schema: unknown, value: unknown, { left, depth }: Place): boolean {
  left.steps -= 1;
  if (left.steps < 0 || depth > deepest) {
    return true;
  }
  if (typeof schema === 'boolean') {
    return schema;
  }
  const { type, required, properties, items, enum: choices, const: constant } = toRecord(schema);
  const below = { left, depth: depth + 1 };
  if (!isOfType(type, value) || !isAmong(constant === undefined ? choices : [constant], value, left)) {
    return false;
  }
  if (Array.isArray(value)) {
    return items === undefined || Array.isArray(items) || value.every((each) => fits(items, each, below));
  }
  if (typeof value !== 'object' || value === null) {
    return true;
  }
  const names = Array.isArray(required) ? required.slice(0, Math.max(0, left.steps)) : [];
  left.steps -= names.length;
  const known = toRecord(properties);
  return (
    names.every((name) => typeof name !== 'string' || Object.hasOwn(value, name)) &&
    Object.entries(value).every(
      ([name, each]) => !Object.hasOwn(known, name) || fits(known[name], each, below),
    )
  );
}

function isOfType(type: unknown, value: unknown): boolean {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string');
  return types.length === 0 || types.some((each) => isOne(each, value));
}

function isOne(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return true;
  }
}

/** Compares scalars only. */
function isAmong(choices: unknown, value: unknown, left: Place['left']): boolean {
  if (!Array.isArray(choices) || (typeof value === 'object' && value !== null)) {
    return true;
  }
  left.steps -= choices.length;
  return left.steps < 0 || choices.includes(value);
}
