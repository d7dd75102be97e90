import type { PiiMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { countTokens, mayHoldTokens } from '#domain/governance/redaction/pii-tokens.ts';
import { restoreLine } from '#domain/governance/redaction/restore.ts';

/** Replaces tokens with their values for one reader of a stream. */
export class Restorer {
  readonly #load: () => Promise<PiiMapping>;
  #mapping: PiiMapping = new Map();
  /** Texts in the form of a token that have no value. */
  readonly #unknown = new Set<string>();

  constructor(load: () => Promise<PiiMapping>) {
    this.#load = load;
  }

  /** Loads the values of the tokens in these events. @returns null when all are loaded */
  prepare(lines: readonly string[]): Promise<void> | null {
    const open = lines
      .filter(mayHoldTokens)
      .flatMap((line) => Object.keys(countTokens(line)))
      .filter((token) => !this.#mapping.has(token) && !this.#unknown.has(token));
    return open.length === 0 ? null : this.#reload(open);
  }

  /** The event for this reader: the same for every reader who may see values, at any time. */
  line(line: string, type: string): string {
    return restoreLine(line, type, this.#mapping);
  }

  async #reload(wanted: readonly string[]): Promise<void> {
    this.#mapping = await this.#load();
    wanted.filter((token) => !this.#mapping.has(token)).forEach((token) => this.#unknown.add(token));
  }
}
