import type { Source } from '#domain/knowledge/connectors/source.ts';
import { listAll, type WholeListing } from './open-source.ts';

interface Copy {
  name: string;
  version: string | null;
  text: string;
}

/** What a run would store of a source: lists, applies changes and deletions, and fetches what is not known unchanged. */
export class SourceModel {
  readonly copies = new Map<string, Copy>();
  checkpoint: string | null = null;
  fetched = 0;
  /** Of these, contents of `fetch`, which are not `unchanged`, and of listed documents with a version. */
  read = 0;

  async sync(source: Source, signal: AbortSignal = AbortSignal.timeout(120_000)): Promise<WholeListing> {
    const listing = await listAll(source, this.checkpoint, signal);
    const listed = new Set<string>();
    for (const document of listing.documents) {
      const { ref, name, version } = document;
      listed.add(ref);
      const known = this.copies.get(ref);
      if (known !== undefined && version !== null && known.version === version) {
        known.name = name;
        continue;
      }
      const asked = {
        ref,
        version: known?.version ?? null,
        mediaType: document.mediaType,
        maxBytes: 1_048_576,
      };
      const found =
        document.content === undefined
          ? await source.fetch(asked, signal)
          : ({ kind: 'content', content: document.content, version: null } as const);
      this.fetched += 1;
      if (found.kind === 'content') {
        if (document.content === undefined || version !== null) this.read += 1;
        this.copies.set(ref, {
          name,
          version: found.version ?? version,
          text: Buffer.from(found.content).toString(),
        });
      } else if (found.kind === 'gone') {
        this.copies.delete(ref);
      } else if (found.kind === 'unchanged' && known !== undefined) {
        known.name = name;
      }
    }
    for (const ref of listing.gone) this.copies.delete(ref);
    if (listing.scope === 'everything' && !listing.truncated) {
      for (const ref of [...this.copies.keys()].filter((each) => !listed.has(each))) {
        if (!(await source.exists(ref, signal))) this.copies.delete(ref);
      }
    }
    this.checkpoint = listing.checkpoint;
    return listing;
  }

  /** Names and texts, in an order of their own. */
  contents(): [name: string, text: string][] {
    return [...this.copies.values()]
      .map(({ name, text }): [string, string] => [name, text])
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
