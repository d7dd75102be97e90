import { realpath } from 'node:fs/promises';
import type {
  FetchInput,
  Fetched,
  ListInput,
  Source,
  SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { Prepared } from '../shared/prepared.ts';
import { pathFilter, type PathFilter, type PathPatterns } from '../shared/path-filter.ts';
import { fileFailure, folderFailure, isAbsent, isForbidden, withinTime } from './file-failure.ts';
import { fileVersion } from './file-version.ts';
import { ListingState } from './listing-state.ts';
import { openBeneath } from './open-beneath.ts';
import { readFile } from './read-file.ts';
import { readSmall, type ReadContent } from './read-small.ts';
import { manifestName, readManifest } from './readers-manifest.ts';
import { statAll } from './stat-all.ts';

/** An operation on a folder takes longer only where the file system hangs. */
const answerMs = 60_000;
const readMs = 300_000;
const groupsPerPage = 100;

export interface FolderScope extends PathPatterns {
  path: string;
}

/** References are paths from the root, so that they stay when the scope's folder changes. */
export class FilesystemSource implements Source {
  readonly #configured: string;
  readonly #folder: readonly string[];
  readonly #filter: PathFilter;
  #listing: ListingState | null = null;
  readonly #prepared = new Prepared<ReadContent>();

  constructor(root: string, scope: FolderScope) {
    this.#configured = root;
    this.#folder = scope.path === '' ? [] : scope.path.split('/');
    this.#filter = pathFilter(scope);
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#run(answerMs, signal, async (root) => {
      await this.#assertFolder(root, signal);
      await readManifest(root);
    });
  }

  list({ cursor }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    return this.#run(answerMs, signal, async (root) => {
      await this.#assertFolder(root, signal);
      const manifest = await readManifest(root);
      const enters = (segments: readonly string[]) => !this.#filter.excludes(this.#relative(segments));
      const listing =
        cursor !== null && this.#listing?.cursor === cursor
          ? this.#listing
          : new ListingState({ root, folder: this.#folder, cursor, enters });
      // After a failure the same cursor begins with a listing of its own.
      this.#listing = null;
      const paths = await listing.next((segments) => this.#accepts(segments), signal);
      const stats = await statAll(root, paths, () => listing.miss());
      const documents = paths.flatMap((segments) => {
        const file = stats.get(segments);
        if (file?.isFile() !== true) return [];
        const ref = segments.join('/');
        return [
          {
            ref,
            name: ref,
            version: fileVersion(file),
            byteSize: Number(file.size),
            mediaType: null,
            url: null,
            ...(manifest !== null && { readers: manifest.readersOf(ref) }),
          },
        ];
      });
      this.#listing = listing;
      const { cursor: next, truncated } = listing;
      return {
        documents,
        gone: [],
        next,
        checkpoint: null,
        total: null,
        scope: 'everything',
        truncated,
        lacksReaders: manifest === null,
      };
    });
  }

  async fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const prepared = this.#prepared.take(ref);
    if (prepared !== undefined && prepared.content.byteLength <= maxBytes) {
      return version !== null && version === prepared.version ? { kind: 'unchanged' } : prepared;
    }
    return this.#run(readMs, signal, async (root) => {
      const segments = this.#segmentsOf(ref);
      if (segments === null) {
        return { kind: 'gone' };
      }
      try {
        const { handle } = await openBeneath(root, segments, 'file');
        return await readFile(handle, { version, maxBytes, signal });
      } catch (error) {
        if (isForbidden(error)) {
          return { kind: 'skipped', code: 'forbidden_by_source' };
        }
        if (!isAbsent(error)) throw error;
        // A root that is not mounted must not make all its documents look deleted.
        await this.#assertFolder(root, signal);
        return { kind: 'gone' };
      }
    });
  }

  /** Small files are read folder by folder, which takes half the calls of the system. */
  async prepare(refs: readonly string[], signal: AbortSignal): Promise<number> {
    const paths = refs.flatMap((ref) => {
      const segments = this.#segmentsOf(ref);
      return segments === null ? [] : [segments];
    });
    try {
      const read = await this.#run(readMs, signal, (root) => readSmall(root, paths, signal));
      this.#prepared.add(new Map([...read].map(([segments, file]) => [segments.join('/'), file])));
      return read.size;
    } catch {
      // Fetching them one by one says what is wrong.
      signal.throwIfAborted();
      return 0;
    }
  }

  exists(ref: string, signal: AbortSignal): Promise<boolean> {
    return this.#run(answerMs, signal, async (root) => {
      await this.#assertFolder(root, signal);
      const segments = this.#segmentsOf(ref);
      if (segments === null) return false;
      let isMissed = false;
      const found = await statAll(root, [segments], () => {
        isMissed = true;
      });
      // What may not be looked at is not known to be deleted.
      return isMissed || found.get(segments)?.isFile() === true;
    });
  }

  groups(cursor: string | null, signal: AbortSignal): ReturnType<NonNullable<Source['groups']>> {
    return this.#run(answerMs, signal, async (root) => {
      const all = (await readManifest(root))?.groups ?? [];
      const sorted = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const groups = sorted.filter(({ id }) => cursor === null || id > cursor).slice(0, groupsPerPage);
      const last = groups.at(-1)?.id;
      return { groups, next: last !== undefined && last !== sorted.at(-1)?.id ? last : null };
    });
  }

  /** @throws SourceFailure and the signal's reason, nothing else */
  #run<T>(ms: number, signal: AbortSignal, work: (root: string) => Promise<T>): Promise<T> {
    return withinTime(ms, signal, async () => {
      try {
        return await work(await realpath(this.#configured));
      } catch (error) {
        throw fileFailure(error, signal);
      }
    });
  }

  async #assertFolder(root: string, signal: AbortSignal): Promise<void> {
    try {
      await (await openBeneath(root, this.#folder, 'folder')).handle.close();
    } catch (error) {
      throw folderFailure(error, signal);
    }
  }

  #relative(segments: readonly string[]): string {
    return segments.slice(this.#folder.length).join('/');
  }

  #accepts(segments: readonly string[]): boolean {
    const relative = this.#relative(segments);
    return (
      segments.join('/') !== manifestName &&
      Buffer.byteLength(segments.join('/')) <= 2_000 &&
      this.#filter.accepts(relative) &&
      // As the walk does not enter an excluded folder, a document of it is not in the scope either.
      segments.slice(this.#folder.length, -1).every((_, index) => {
        const folder = segments.slice(0, this.#folder.length + index + 1);
        return !this.#filter.excludes(this.#relative(folder));
      })
    );
  }

  /** Null: not a path of a document in this scope. */
  #segmentsOf(ref: string): string[] | null {
    const segments = ref.split('/');
    const isPath = segments.every(
      (part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'),
    );
    const isInFolder = this.#folder.every((part, index) => segments[index] === part);
    return isPath && isInFolder && this.#accepts(segments) ? segments : null;
  }
}

export function rootOf(roots: ReadonlyMap<string, string>, name: string): string {
  const root = roots.get(name);
  if (root === undefined) {
    // A setting of this process, which the next one may have: no reason to suspend the connector.
    throw new SourceFailure(
      'source_unreachable',
      'The operator has opened no folder of this name to connectors (CONNECTOR_ROOTS).',
    );
  }
  return root;
}
