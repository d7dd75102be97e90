/**
 * The allowed methods of each path. If a path matches two patterns the router's order decides: a literal step before a
 * parameter.
 */
export class AllowedMethods {
  readonly #patterns = new Map<string, Pattern>();
  #shadowed: ReadonlySet<string> | null = null;

  add(text: string, methods: readonly string[]): void {
    const pattern = this.#patterns.get(text) ?? parse(text);
    methods.forEach((method) => pattern.methods.add(method));
    this.#patterns.set(text, pattern);
    this.#shadowed = null;
  }

  /** Sorted; empty where no route matches `path`. */
  at(path: string): string[] {
    const steps = path.split('/');
    const matching = [...this.#patterns.values()].filter((pattern) => matches(pattern, steps));
    const [best] = matching.map(({ shape }) => shape).sort();
    const methods = matching.filter(({ shape }) => shape === best).flatMap((pattern) => [...pattern.methods]);
    return [...new Set(methods)].sort();
  }

  /**
   * Whether a request routed by `pattern` belongs to another pattern: a method that the literal path lacks falls
   * through to the parameter route beside it.
   */
  fellThrough(pattern: string, method: string, path: string): boolean {
    this.#shadowed ??= this.#findShadowed();
    return this.#shadowed.has(pattern) && !this.at(path).includes(method);
  }

  #findShadowed(): Set<string> {
    const all = [...this.#patterns];
    const isShadowed = (pattern: Pattern) =>
      all.some(([, other]) => other.shape < pattern.shape && matches(pattern, other.steps));
    return new Set(all.filter(([, pattern]) => isShadowed(pattern)).map(([text]) => text));
  }
}

/** Parsed once: every pattern is compared with every other one when a gateway starts. */
interface Pattern {
  steps: readonly string[];
  /** The place of the star, which matches the rest; -1 without one. */
  star: number;
  /** Sort key in the router's order, step by step: literal, parameter, wildcard. */
  shape: string;
  methods: Set<string>;
}

/** A request's path, without its query. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';

function parse(text: string): Pattern {
  const steps = text.split('/');
  const star = steps.findIndex((step) => step.includes('*'));
  const kindOf = (step: string) => (step.startsWith(':') ? '1' : step.includes('*') ? '2' : '0');
  return { steps, star, shape: steps.map(kindOf).join(''), methods: new Set() };
}

/** Compares step by step. */
function matches({ steps: names, star }: Pattern, steps: readonly string[]): boolean {
  return (
    (star < 0 ? steps.length === names.length : steps.length > star) &&
    names
      .slice(0, star < 0 ? names.length : star)
      .every((name, at) => (name.startsWith(':') ? steps[at] !== '' : name === steps[at]))
  );
}
