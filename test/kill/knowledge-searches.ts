import { setTimeout as sleep } from 'node:timers/promises';
import type { KnowledgeClient, KnowledgeSpace } from './knowledge-client.ts';
import type { SourceDocument } from './knowledge-documents.ts';

/** A gateway opens new connections within this time after the server is back. */
const reconnectMs = 5_000;

/** Searches without a pause, each for a document that was ready before it. */
export class KnowledgeSearches {
  done = 0;
  byMeaning = 0;
  unavailable = 0;
  readonly faults: string[] = [];
  /** Names of the documents that were seen to be ready. */
  readonly ready = new Set<string>();
  /** From here on searches must use these vectors. */
  expectedGeneration: string | null = null;
  readonly #outages: { from: number; to: number }[] = [];
  readonly #client: KnowledgeClient;
  readonly #space: KnowledgeSpace;
  readonly #documents: readonly SourceDocument[];

  constructor(client: KnowledgeClient, space: KnowledgeSpace, documents: readonly SourceDocument[]) {
    this.#client = client;
    this.#space = space;
    this.#documents = documents;
  }

  /** While `work` runs, and a little longer, the database may be away. */
  async duringOutage<T>(work: () => Promise<T>): Promise<T> {
    const outage = { from: performance.now(), to: Infinity };
    this.#outages.push(outage);
    try {
      return await work();
    } finally {
      outage.to = performance.now() + reconnectMs;
    }
  }

  async run(random: () => number, until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const ready = this.#documents.filter(({ filename }) => this.ready.has(filename));
      const document = ready[Math.floor(random() * ready.length)];
      if (document !== undefined) await this.#search(document);
      await sleep(20);
    }
  }

  async #search({ filename, word }: SourceDocument): Promise<void> {
    // Vectors of a fake model rank by chance: only a search by words must put the document first.
    const byWords = this.done % 2 === 0;
    const from = performance.now();
    const expected = this.expectedGeneration;
    const { status, data, text } = await this.#client
      .search(this.#space, word, byWords ? 0 : undefined)
      .catch((error: Error) => ({ status: 0, data: undefined, text: error.message }));
    const to = performance.now();
    this.done += 1;
    if (status === 503 && this.#outages.some((outage) => from < outage.to && to > outage.from)) {
      this.unavailable += 1;
    } else if (status !== 200 || data === undefined) {
      this.faults.push(`${word}: ${status} ${text.slice(0, 300)}`);
    } else if (data.results.length === 0 || (byWords && data.results[0]?.filename !== filename)) {
      this.faults.push(
        `${word}: ${data.results.length} results (${data.mode}), first ${data.results[0]?.filename}`,
      );
    } else if (expected !== null && data.generation !== null && data.generation !== expected) {
      this.faults.push(`${word}: found by vectors of ${data.generation}, not of ${expected}`);
    }
    if (data?.mode === 'hybrid') this.byMeaning += 1;
  }
}
