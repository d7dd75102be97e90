import { z } from 'zod';
import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { parseState } from '../shared/stored-text.ts';
import { walkFolder, type Visited, type Walk } from './walk-folder.ts';

const documentsPerPage = 500;
/** So that a page ends soon in folders of which the scope takes little. */
const visitsPerPage = 20_000;

const cursorSchema = z.strictObject({ after: z.string(), truncated: z.boolean() });

/** A listing between two pages. Kept, it goes on at once; its cursor lets another process go on. */
export class ListingState {
  truncated = false;
  /** The entry that the last page ended with; null before the first page and after the last one. */
  #after: string | null = null;
  readonly #visits: AsyncGenerator<Visited>;

  constructor(start: Pick<Walk, 'root' | 'enters'> & { folder: readonly string[]; cursor: string | null }) {
    const from = start.cursor === null ? null : parseState(cursorSchema, start.cursor);
    this.truncated = from?.truncated ?? false;
    this.#after = from?.after ?? null;
    const onMissed = () => this.miss();
    const { root, enters, folder } = start;
    this.#visits = walkFolder(
      { root, enters, onMissed },
      folder,
      from?.after.split('/').slice(folder.length) ?? null,
    );
  }

  /** Where the next page begins; null before the first page and after the last one. */
  get cursor(): string | null {
    return this.#after === null ? null : JSON.stringify({ after: this.#after, truncated: this.truncated });
  }

  /** Something could not be read: nothing counts as deleted. */
  miss(): void {
    this.truncated = true;
  }

  /** Paths of the next page. */
  async next(accepts: (segments: readonly string[]) => boolean, signal: AbortSignal): Promise<string[][]> {
    const found: string[][] = [];
    const turns = new LoopTurns();
    for (let visits = 0; ; visits += 1) {
      signal.throwIfAborted();
      await turns.pass(signal);
      const { value, done } = await this.#visits.next();
      if (done === true) {
        this.#after = null;
        return found;
      }
      if (value.isFile && accepts(value.segments)) {
        found.push(value.segments);
      }
      if (found.length === documentsPerPage || visits === visitsPerPage) {
        this.#after = value.segments.join('/');
        return found;
      }
    }
  }
}
