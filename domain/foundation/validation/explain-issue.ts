import { kindOf, type SchemaIssue } from './describe-issue.ts';
import { maxValues } from './unknown-field.ts';

/** A problem as the schema library reports it; `path` is relative to the enclosing union. */
export interface Issue extends SchemaIssue {
  path: readonly PropertyKey[];
  keys?: string[];
  errors?: Issue[][];
}

/** What is reported of it, at its place in the input. */
export interface Problem {
  path: readonly PropertyKey[];
  code: string;
  issue: Issue;
}

/** Problems of a value that is none of a kind, or of a few. */
const ofKind = new Set(['invalid_type', 'invalid_value', 'invalid_union']);

/** Reports only the intended alternative of a union, or else the forms of all: "matches none of four" does not help. */
export function explain(issue: Issue): Problem[] {
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
    const values = valuesOf(issue);
    const shown = values.length > maxValues ? [...values.slice(0, maxValues), 'others'] : values;
    return issue?.code === 'invalid_type' ? [kindOf(issue)] : shown;
  });
  const words = [...new Set(wanted.flat())].filter((each) => each !== undefined);
  return words.length === 0 ? undefined : `must be ${words.join(' or ')}`;
}

const valuesOf = (issue?: Issue): string[] => (Array.isArray(issue?.values) ? issue.values.map(String) : []);

/** Whether the alternative was not intended: another kind of value, or another `type`. What exceeds a limit is meant. */
function isAnother(problems: readonly Problem[]): boolean {
  return (
    wrongType(problems).length > 0 || problems.some(({ path, code }) => path.length === 0 && ofKind.has(code))
  );
}

function wrongType(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ path }) => path.length === 1 && path[0] === 'type');
}

function byLength(a: readonly Problem[], b: readonly Problem[]): number {
  return a.length - b.length;
}
