import { documentRows, isEmbedded, until, type DocumentRow } from './knowledge-rows.ts';
import type { KnowledgeField, KnowledgeStruck } from './knowledge-strikes.ts';

const limitMs = 120_000;
const pollMs = 250;

/** The delay from each kill until the work that it interrupted went on. */
export class Recoveries {
  readonly struck: KnowledgeStruck[] = [];
  readonly #field: KnowledgeField;
  readonly #pending: Promise<number | null>[] = [];

  constructor(field: KnowledgeField) {
    this.#field = field;
  }

  /** Measured in the background. A worker that was killed at random may have held nothing: it is not measured. */
  follow(struck: KnowledgeStruck): void {
    this.struck.push(struck);
    if (struck.kind === 'anywhere') return;
    const measured = this.#measure(struck);
    measured.catch(() => undefined);
    this.#pending.push(measured);
  }

  /** @throws when interrupted work did not go on in time */
  async all(): Promise<number[]> {
    return (await Promise.all(this.#pending)).filter((ms) => ms !== null);
  }

  async #measure({ kind, at, held }: KnowledgeStruck): Promise<number | null> {
    const { deployment, space } = this.#field;
    const read = () => documentRows(deployment.query, space);
    const before = held.length > 0 ? held : await until('No row', limitMs, read);
    const unfinished = before.filter(
      (row) => held.length > 0 || !isEmbedded(row) || row.vectors < row.chunk_count,
    );
    if (unfinished.length === 0) return null;
    return until(
      `Work did not go on after a kill (${kind})`,
      limitMs,
      async () => {
        const now = new Map((await read()).map((row) => [row.id, row]));
        return unfinished.some((row) => hasMoved(row, now.get(row.id))) ? performance.now() - at : null;
      },
      pollMs,
    );
  }
}

function hasMoved(before: DocumentRow, now: DocumentRow | undefined): boolean {
  return (
    now?.vectors !== before.vectors ||
    now.status !== before.status ||
    now.embedding_pending !== before.embedding_pending
  );
}
