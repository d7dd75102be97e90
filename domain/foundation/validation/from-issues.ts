import { DomainError, type FieldError } from '../kernel/errors.ts';
import { own } from '../kernel/own.ts';
import { describeIssue, kindOf, type SchemaIssue } from './describe-issue.ts';

/** A problem as the schema library reports it; `path` is relative to the enclosing union. */
export interface Issue extends SchemaIssue {
  path: readonly PropertyKey[];
  keys?: string[];
  errors?: Issue[][];
}

interface Problem {
  path: readonly PropertyKey[];
  code: string;
  issue: Issue;
}

const maxErrors = 50;
/** Problems that a place may have without a value of its own. */
const ofAnother = new Set(['unrecognized_keys', 'custom']);

/**
 * The error of an input that does not fit its schema. The first problem becomes `param`; an unknown field precedes a
 * wrong value.
 * @param input in which the issues have their paths; a number or a short word of it may be repeated
 */
export function fromIssues(issues: readonly Issue[], place: FieldError['in'], input?: unknown): DomainError {
  const problems = issues.flatMap(explain);
  const toField = ({ path, code, issue }: Problem): FieldError => ({
    in: place,
    pointer: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    code,
    message: wordsAt(issue, path, input),
  });
  const errors = problems.slice(0, maxErrors).map(toField);
  const unknown = problems.find(({ code }) => code === 'unrecognized_keys');
  const first = unknown ?? problems[0];
  const param = toParam(first?.path ?? []);
  const detail = { ...(param === '' ? {} : { param }), errors };
  const words = first === undefined ? 'is not valid' : toField(first).message;
  if (place === 'header') {
    const name = titled(param);
    return new DomainError('invalid_header', `The header ${name} ${words}.`, { ...detail, param: name });
  }
  const subject = param === '' ? 'The request' : isPlain(param) ? `\`${param}\`` : 'A parameter';
  return new DomainError(
    unknown === undefined ? 'invalid_request' : 'unknown_parameter',
    `${subject} ${words}.`,
    detail,
  );
}

/** Whether an error message may repeat the field's name: it is no text that a caller chose as a key. */
function isPlain(param: string): boolean {
  return /^[\w.-]{1,100}$/.test(param);
}

function wordsAt(issue: Issue, path: readonly PropertyKey[], input: unknown): string {
  const sent = valueAt(input, path);
  const isMissing = input !== undefined && sent === undefined && !ofAnother.has(issue.code);
  return isMissing ? 'is missing' : describeIssue(issue, sent);
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null
        ? own(value as Record<string, unknown>, String(step))
        : undefined,
    input,
  );
}

/** Truncated to 100 characters, since keys may come from the caller. */
function toParam(path: readonly PropertyKey[]): string {
  return path.map(String).join('.').slice(0, 100);
}

function titled(header: string): string {
  return header.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Reports only the intended alternative of a union, or else the forms of all: "matches none of four" does not help. */
function explain(issue: Issue): Problem[] {
  const { code, path, keys, errors, message } = issue;
  if (keys !== undefined) {
    return keys.slice(0, 1).map((key) => ({ code, path: [...path, key], issue }));
  }
  if (errors === undefined) {
    return [{ code, path, issue }];
  }
  const alternatives = errors.map((problems) => problems.flatMap(explain));
  const meant = alternatives.filter((problems) => !isAnother(problems)).sort(byLength)[0];
  // The words of the schema itself name what the types of its alternatives do not, such as null.
  const hasWords = message?.startsWith('must ') === true;
  const inner = meant ?? (hasWords ? [] : anyType(alternatives));
  if (inner.length > 0) {
    return inner.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
  }
  return [{ code, path, issue: hasWords ? issue : { ...issue, message: wordsOfAll(alternatives) } }];
}

/** Where every alternative has another `type`: one problem with all of them. */
function anyType(alternatives: readonly Problem[][]): Problem[] {
  const wrong = alternatives.flatMap(wrongType);
  return wrong.slice(0, 1).map((first) => {
    const values = wrong.flatMap(({ issue }) => valuesOf(issue));
    return { ...first, issue: { ...first.issue, values: [...new Set(values)] } };
  });
}

/** Where every alternative is of another kind: all of the kinds and values. */
function wordsOfAll(alternatives: readonly Problem[][]): string | undefined {
  const wanted = alternatives.map((problems) => {
    const { issue } = problems.find(({ path }) => path.length === 0) ?? {};
    return issue?.code === 'invalid_type' ? [kindOf(issue)] : valuesOf(issue);
  });
  const words = [...new Set(wanted.flat())].filter((each) => each !== undefined);
  return words.length === 0 ? undefined : `must be ${words.join(' or ')}`;
}

const valuesOf = (issue?: Issue): string[] => (Array.isArray(issue?.values) ? issue.values.map(String) : []);

/** Whether the alternative was not intended: another kind of value, or another `type`. */
function isAnother(problems: readonly Problem[]): boolean {
  return (
    wrongType(problems).length > 0 ||
    problems.some(({ path, code }) => path.length === 0 && code !== 'unrecognized_keys')
  );
}

function wrongType(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ path }) => path.length === 1 && path[0] === 'type');
}

function byLength(a: readonly Problem[], b: readonly Problem[]): number {
  return a.length - b.length;
}
