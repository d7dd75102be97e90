/** A field, or `... on Type`, of a query. */
export interface Selection {
  name: string;
  isFragment: boolean;
  args: Record<string, unknown>;
  fields: Selection[] | null;
}

/** An error of a query as GitHub answers it, with status 200. */
export class QueryRefused extends Error {
  readonly error: Record<string, unknown>;

  constructor(error: { message: string } & Record<string, unknown>) {
    super(error.message);
    this.error = error;
  }
}

const token = /\.\.\.|[A-Za-z_]\w*|\d+|[{}()[\]:!$,]/g;

/** Reads what the tests need of the language: one query with variables, fields, arguments and inline fragments. */
export function readQuery(text: string, variables: Record<string, unknown>): Selection[] {
  const tokens = text.match(token) ?? [];
  let at = 0;
  const take = (wanted?: string): string => {
    const found = tokens[at++];
    if (found === undefined || (wanted !== undefined && found !== wanted)) {
      throw new QueryRefused({ message: `Parse error on "${found}"`, extensions: { code: 'parseError' } });
    }
    return found;
  };
  const readValue = (): unknown => {
    if (tokens[at] !== '$') return Number(take());
    take('$');
    return variables[take()];
  };
  const readArgs = (): Record<string, unknown> => {
    const args: Record<string, unknown> = {};
    if (tokens[at] !== '(') return args;
    for (take('('); tokens[at] !== ')';) {
      const name = take();
      take(':');
      args[name] = readValue();
      if (tokens[at] === ',') take();
    }
    take(')');
    return args;
  };
  const readFields = (): Selection[] => {
    const found: Selection[] = [];
    for (take('{'); tokens[at] !== '}';) {
      const isFragment = tokens[at] === '...';
      if (isFragment) {
        take('...');
        take('on');
      }
      const name = take();
      const args = readArgs();
      found.push({ name, isFragment, args, fields: tokens[at] === '{' ? readFields() : null });
    }
    take('}');
    return found;
  };
  take('query');
  if (tokens[at] === '(') {
    for (take('('); tokens[at] !== ')';) {
      take('$');
      const name = take();
      take(':');
      take();
      const isRequired = tokens[at] === '!';
      if (isRequired) take();
      if (tokens[at] === ',') take();
      if (isRequired && variables[name] == null) {
        throw new QueryRefused({ message: `Variable $${name} was provided invalid value` });
      }
    }
    take(')');
  }
  return readFields();
}

/** Fields of an object: values, objects, lists of them, or functions of the arguments. */
export interface Shown {
  typeName: string;
  [field: string]: unknown;
}

/** What a query selects of an object, and nothing else; an unknown field is refused. */
export function select(
  from: Shown,
  fields: readonly Selection[],
  errors: object[],
  path: string[] = [],
): object {
  const answer: Record<string, unknown> = {};
  for (const { name, isFragment, args, fields: below } of fields) {
    if (isFragment) {
      if (name === from.typeName) Object.assign(answer, select(from, below ?? [], errors, path));
      continue;
    }
    if (!(name in from)) {
      const message = `Field '${name}' doesn't exist on type '${from.typeName}'`;
      throw new QueryRefused({ message, extensions: { code: 'undefinedField' } });
    }
    const place = [...path, name];
    const shown = (each: unknown) =>
      each === null || typeof each !== 'object' ? each : select(each as Shown, below ?? [], errors, place);
    const value = valueOf(from[name], args, { errors, place });
    answer[name] = Array.isArray(value) ? value.map(shown) : shown(value);
  }
  return answer;
}

/** A field that fails is null, with an error that says where. */
function valueOf(
  given: unknown,
  args: object,
  { errors, place }: { errors: object[]; place: string[] },
): unknown {
  try {
    return typeof given === 'function' ? (given as (args: object) => unknown)(args) : given;
  } catch (error) {
    if (!(error instanceof QueryRefused)) throw error;
    errors.push({ ...error.error, path: place, locations: [{ line: 1, column: 1 }] });
    return null;
  }
}
