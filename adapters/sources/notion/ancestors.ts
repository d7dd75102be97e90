import { LRUCache } from 'lru-cache';
import type { Patience } from '../shared/patience.ts';
import type { NotionClient, ParentKind } from './notion-client.ts';
import type { AnyPage, Parent } from './wire.ts';

/** Steps up from a page; a longer chain leads to no root. */
const maxSteps = 100;

/** What a page stands in, and the request that says what is above it. */
interface Step {
  kind: ParentKind;
  id: string;
  /** Those by which the scope can name it. */
  names: readonly string[];
}

/** Whether a page belongs to the scope; `unknown`: what it stands in is not shown, which may pass. */
export type Standing = 'within' | 'outside' | 'unknown';

/** Whether pages stand below the root pages of the scope. */
export class Ancestors {
  readonly #client: NotionClient;
  readonly #roots: ReadonlySet<string>;
  /** Whether pages, blocks and databases are within, by their ids. */
  readonly #known = new LRUCache<string, Standing>({ max: 20_000 });
  /** Of listed pages, which need no request. */
  readonly #parents = new LRUCache<string, Parent>({ max: 20_000 });

  constructor(client: NotionClient, roots: readonly string[]) {
    this.#client = client;
    this.#roots = new Set(roots.map(plainId));
  }

  learn({ id, parent }: AnyPage): void {
    if (this.#roots.size > 0 && parent != null) {
      this.#parents.set(plainId(id), parent);
    }
  }

  /** Each page, block or database above is asked for once. */
  async find({ id, parent }: AnyPage, patience: Patience, signal: AbortSignal): Promise<Standing> {
    if (this.#roots.size === 0 || this.#roots.has(plainId(id))) {
      return 'within';
    }
    const passed: string[] = [];
    let step = stepOf(parent);
    while (typeof step !== 'string' && passed.length < maxSteps) {
      const { kind, id: above, names }: Step = step;
      const known = names.some((name) => this.#roots.has(name)) ? 'within' : this.#known.get(above);
      if (known !== undefined) {
        step = known;
        break;
      }
      passed.push(above);
      const ask = () => this.#client.parentOf(kind, above, signal);
      step = stepOf(this.#parents.get(plainId(above)) ?? (await patience.ask(signal, ask)));
    }
    const standing = typeof step === 'string' ? step : 'outside';
    for (const each of passed) {
      this.#known.set(each, standing);
    }
    return standing;
  }
}

/** A page of the workspace stands in nothing else. */
function stepOf(parent: Parent | 'absent' | null | undefined): Step | Standing {
  if (parent == null || parent === 'absent') {
    return 'unknown';
  }
  const { type, page_id: page, block_id: block, database_id: database, data_source_id: source } = parent;
  const names = [page, block, database, source].flatMap((id) => (id === undefined ? [] : [plainId(id)]));
  const kinds: [ParentKind, string | undefined][] = [
    ['pages', page],
    ['blocks', block],
    ['databases', database],
    ['data_sources', source],
  ];
  for (const [kind, id] of kinds) {
    if (id !== undefined) {
      return { kind, id, names };
    }
  }
  return type === 'workspace' ? 'outside' : 'unknown';
}

/** Ids are equal with hyphens and without. */
function plainId(id: string): string {
  return id.replaceAll('-', '').toLowerCase();
}
