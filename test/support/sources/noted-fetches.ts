import type { SourceProvider } from '#adapters/sources/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';

/** Documents that runs have asked their sources for, by connector. */
export class NotedFetches {
  readonly #refs = new Map<string, string[]>();

  /** The provider, whose sources are noted. */
  of(provider: SourceProvider): SourceProvider {
    return {
      ...provider,
      open: async (scope, access) => this.#noting(await provider.open(scope, access), access.use.connectorId),
    };
  }

  /** References since the last call, in order. */
  take(connectorId: string): string[] {
    const taken = this.#refs.get(connectorId) ?? [];
    this.#refs.delete(connectorId);
    return taken;
  }

  #noting(source: Source, connectorId: string): Source {
    const note = (...refs: string[]) => {
      const noted = this.#refs.get(connectorId) ?? [];
      noted.push(...refs);
      this.#refs.set(connectorId, noted);
    };
    const fetch = source.fetch.bind(source);
    source.fetch = (input, signal) => {
      note(input.ref);
      return fetch(input, signal);
    };
    const prepare = source.prepare?.bind(source);
    if (prepare !== undefined) {
      source.prepare = (refs, signal) => {
        note(...refs);
        return prepare(refs, signal);
      };
    }
    return source;
  }
}
