/**
 * The allowed methods of each path. If a path matches two patterns the router's order decides: a literal step before a
 * parameter.
 */
export class AllowedMethods {
  readonly #methods = new Map<string, Set<string>>();
  #shadowed: ReadonlySet<string> | null = null;

  add(pattern: string, methods: readonly string[]): void {
    const known = this.#methods.get(pattern) ?? new Set<string>();
    methods.forEach((method) => known.add(method));
    this.#methods.set(pattern, known);
    this.#shadowed = null;
  }

  /** Sorted; empty where no route matches `path`. */
  at(path: string): string[] {
    const matching = [...this.#methods.keys()].filter((pattern) => isOf(pattern, path));
    const [best] = matching.map(shapeOf).sort();
    const methods = matching
      .filter((pattern) => shapeOf(pattern) === best)
      .flatMap((pattern) => [...(this.#methods.get(pattern) ?? [])]);
    return [...new Set(methods)].sort();
  }

  /**
   * Whether a request routed by `pattern` belongs to another pattern: a method that the literal path lacks falls
   * through to the parameter route beside it.
   */
  fellThrough(pattern: string, method: string, path: string): boolean {
    this.#shadowed ??= new Set([...this.#methods.keys()].filter((each) => this.#isShadowed(each)));
    return this.#shadowed.has(pattern) && !this.at(path).includes(method);
  }

  #isShadowed(pattern: string): boolean {
    return [...this.#methods.keys()].some(
      (other) => other !== pattern && shapeOf(other) < shapeOf(pattern) && isOf(pattern, other),
    );
  }
}

/** A request's path, without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';

/** Compares step by step; a star matches the rest. */
function isOf(pattern: string, path: string): boolean {
  const steps = path.split('/');
  const names = pattern.split('/');
  const star = names.findIndex((name) => name.includes('*'));
  return (
    (star < 0 ? steps.length === names.length : steps.length > star) &&
    names
      .slice(0, star < 0 ? names.length : star)
      .every((name, at) => (name.startsWith(':') ? steps[at] !== '' : name === steps[at]))
  );
}

/** Sort key in the router's order, step by step: literal, parameter, wildcard. */
function shapeOf(pattern: string): string {
  const step = (text: string) => (text.startsWith(':') ? '1' : text.includes('*') ? '2' : '0');
  return pattern.split('/').map(step).join('');
}
