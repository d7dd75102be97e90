import type { FastifyError } from 'fastify';
import { DomainError, type FieldError } from '#domain/foundation/kernel/errors.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import { describeIssue, type SchemaIssue } from './describe-issue.ts';

export type ValidationError = Pick<FastifyError, 'validation'> & {
  validationContext?: keyof typeof placeOf;
};

const placeOf = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const;

/** A problem as the schema library reports it; `path` is relative to the enclosing union. */
interface Issue extends SchemaIssue {
  path: readonly PropertyKey[];
  keys?: string[];
  errors?: Issue[][];
}

interface Problem {
  path: readonly PropertyKey[];
  code: string;
  issue: Issue;
}

/** The first problem becomes `param`; an unknown field precedes a wrong value. `body`: the request body. */
export function fromValidation(error: ValidationError, body?: unknown): DomainError {
  const issues = (error.validation ?? []).map(({ keyword, instancePath, params, message }): Issue => ({
    ...params,
    code: keyword,
    message,
    path: instancePath.split('/').filter(Boolean),
  }));
  const place = placeOf[error.validationContext ?? 'body'];
  return fromIssues(issues, place, place === 'body' ? body : undefined);
}

/** The same from the schema library's issues. */
export function fromIssues(issues: readonly Issue[], place: FieldError['in'], body?: unknown): DomainError {
  const problems = issues.flatMap(explain);
  const errors = problems.map(({ path, code, issue }): FieldError => ({
    in: place,
    pointer: path.map((step) => `/${String(step)}`).join(''),
    code,
    message: wordsAt(issue, path, body),
  }));
  const unknown = problems.find(({ code }) => code === 'unrecognized_keys');
  const first = unknown ?? problems[0];
  const param = toParam(first?.path ?? []);
  const detail = { ...(param === '' ? {} : { param }), errors };
  if (place === 'header') {
    return new DomainError('invalid_header', 'A header is not valid.', { ...detail, param: titled(param) });
  }
  const words = errors[first === undefined ? 0 : problems.indexOf(first)]?.message ?? 'is not valid';
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

function wordsAt(issue: Issue, path: readonly PropertyKey[], body: unknown): string {
  const sent = valueAt(body, path);
  const isMissing = body !== undefined && sent === undefined && issue.code !== 'unrecognized_keys';
  return isMissing ? 'is missing' : describeIssue(issue, sent);
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null
        ? own(value as Record<string, unknown>, String(step))
        : undefined,
    body,
  );
}

/** Truncated to 100 characters, since keys may come from the caller. */
function toParam(path: readonly PropertyKey[]): string {
  return path.map(String).join('.').slice(0, 100);
}

function titled(header: string): string {
  return header.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Reports only the intended alternative of a union: "matches none of four" does not help. */
function explain(issue: Issue): Problem[] {
  const { code, path, keys } = issue;
  if (keys !== undefined) {
    return keys.slice(0, 1).map((key) => ({ code, path: [...path, key], issue }));
  }
  const alternatives = (issue.errors ?? []).map((problems) => problems.flatMap(explain));
  const meant = alternatives.filter((problems) => !isAnother(problems)).sort(byLength)[0];
  const inner = meant ?? alternatives.map(wrongType).find((problems) => problems.length > 0);
  return inner === undefined
    ? [{ code, path, issue }]
    : inner.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
}

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
