import { DomainError, type FieldError } from '../kernel/errors.ts';
import { own } from '../kernel/own.ts';
import { describeIssue } from './describe-issue.ts';
import { explain, type Issue, type Problem } from './explain-issue.ts';

const maxErrors = 50;
/** Problems that a place may have without a value of its own. */
const ofAnother = new Set(['unrecognized_keys', 'custom']);
/** Of each step of a path: keys may come from the caller. */
const maxStep = 100;

/**
 * The error of an input that does not fit its schema. The first problem becomes `param`; an unknown field precedes a
 * wrong value.
 * @param input in which the issues have their paths; a number or a short word of it may be repeated
 */
export function fromIssues(issues: readonly Issue[], place: FieldError['in'], input?: unknown): DomainError {
  const problems = issues.flatMap(explain);
  const toField = ({ path, code, issue }: Problem): FieldError => ({
    in: place,
    pointer: path.map(toStep).join(''),
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

/** A step of a JSON pointer, cut where it is long. */
function toStep(step: PropertyKey): string {
  const cut = String(step)
    .slice(0, maxStep)
    .replace(/[\uD800-\uDBFF]$/, '');
  return `/${cut.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Truncated to 100 characters, since keys may come from the caller. */
function toParam(path: readonly PropertyKey[]): string {
  return path.map(String).join('.').slice(0, 100);
}

function titled(header: string): string {
  return header.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
