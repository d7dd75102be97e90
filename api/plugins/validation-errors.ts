import type { FastifyError } from 'fastify';
import { DomainError, type FieldError } from '#domain/kernel/errors.ts';

export type ValidationError = Pick<FastifyError, 'validation'> & {
  validationContext?: keyof typeof placeOf;
};

const placeOf = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const;

/** A problem as the schema library tells it; `path` is relative to the union that it lies in. */
interface Issue {
  code: string;
  path: readonly PropertyKey[];
  keys?: string[];
  errors?: Issue[][];
}

interface Problem {
  path: readonly PropertyKey[];
  code: string;
}

/** The first problem becomes `param`; an unknown field goes before a wrong value. */
export function fromValidation(error: ValidationError): DomainError {
  const issues = (error.validation ?? []).map(({ keyword, instancePath, params }): Issue => ({
    ...params,
    code: keyword,
    path: instancePath.split('/').filter(Boolean),
  }));
  return fromIssues(issues, placeOf[error.validationContext ?? 'body']);
}

/** The same from the schema library's own words. */
export function fromIssues(issues: readonly Issue[], place: FieldError['in']): DomainError {
  const problems = issues.flatMap(explain);
  const errors = problems.map(({ path, code }): FieldError => ({
    in: place,
    pointer: path.map((step) => `/${String(step)}`).join(''),
    code,
    message: code === 'unrecognized_keys' ? 'is not known' : 'is not valid',
  }));
  const unknown = problems.find(({ code }) => code === 'unrecognized_keys');
  const first = unknown ?? problems[0];
  const param = toParam(first?.path ?? []);
  const detail = { ...(param === '' ? {} : { param }), errors };
  if (place === 'header') {
    return new DomainError('invalid_header', 'A header is not valid.', { ...detail, param: titled(param) });
  }
  return unknown === undefined
    ? new DomainError('invalid_request', 'The request is not valid.', detail)
    : new DomainError('unknown_parameter', 'The request has an unknown parameter.', detail);
}

/** At most 100 characters, since keys may be the caller's. */
function toParam(path: readonly PropertyKey[]): string {
  return path.map(String).join('.').slice(0, 100);
}

function titled(header: string): string {
  return header.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** Of a union only the alternative that was meant is reported: "matches none of four" helps nobody. */
function explain(issue: Issue): Problem[] {
  const { code, path, keys } = issue;
  if (keys !== undefined) {
    return keys.slice(0, 1).map((key) => ({ code, path: [...path, key] }));
  }
  const alternatives = (issue.errors ?? []).map((problems) => problems.flatMap(explain));
  const meant = alternatives.filter((problems) => !isAnother(problems)).sort(byLength)[0];
  const inner = meant ?? alternatives.map(wrongType).find((problems) => problems.length > 0);
  return inner === undefined
    ? [{ code, path }]
    : inner.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
}

/** Not what the caller meant: another kind of value, or another `type`. */
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
