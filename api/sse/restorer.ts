import type { PiiMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { countTokens, mayHoldTokens } from '#domain/governance/redaction/pii-tokens.ts';
import { restoreLine } from '#domain/governance/redaction/restore.ts';

/** Puts values in the place of tokens for one reader of a stream. */
export class Restorer {
  readonly #load: () => Promise<PiiMapping>;
  #mapping: PiiMapping = new Map();
  /** What looks like a token and stands for nothing. */
  readonly #unknown = new Set<string>();

  constructor(load: () => Promise<PiiMapping>) {
    this.#load = load;
  }

  /** Sees to it that what stands for the tokens of these events is at hand. @returns null when it is already */
  prepare(lines: readonly string[]): Promise<void> | null {
    const open = lines
      .filter(mayHoldTokens)
      .flatMap((line) => Object.keys(countTokens(line)))
      .filter((token) => !this.#mapping.has(token) && !this.#unknown.has(token));
    return open.length === 0 ? null : this.#reload(open);
  }

  /** An event as the reader is sent it: the same for every reader who may see values, whenever they read. */
  line(line: string, type: string): string {
    return restoreLine(line, type, this.#mapping);
  }

  async #reload(wanted: readonly string[]): Promise<void> {
    this.#mapping = await this.#load();
    wanted.filter((token) => !this.#mapping.has(token)).forEach((token) => this.#unknown.add(token));
  }
}
