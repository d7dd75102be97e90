import {
  SourceFailure,
  type Fetched,
  type FetchInput,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { asSourceFailures } from '../shared/http-failure.ts';
import { Prepared } from '../shared/prepared.ts';
import { filesOf } from './commit-files.ts';
import { changedPart, filePart } from './compare-files.ts';
import { submoduleKind, type FileList } from './file-list.ts';
import type { GitClient } from './git-client.ts';
import { isLfsPointer } from './lfs-pointer.ts';
import { parseCheckpoint, parsePosition, writeCheckpoint, type Position } from './position.ts';
import { ObjectMissing } from './pkt-line.ts';
import { readBlob } from './read-blob.ts';
import { readBlobs } from './read-blobs.ts';
import { scopeDigest, type GitScope } from './scope.ts';
import { webAddress } from './web-address.ts';

const nothing: SourcePage = {
  documents: [],
  gone: [],
  next: null,
  checkpoint: null,
  total: 0,
  scope: 'everything',
};

/** The files of a branch. Everything is read from one commit, so a push during a run is seen by the next one. */
export class GitSource implements Source {
  readonly #client: GitClient;
  readonly #scope: GitScope;
  readonly #use: SourceAccess['use'];
  readonly #lists = new Map<string, Promise<FileList>>();
  /** The commit that contents are read from. */
  #commit: string | null = null;
  /** Contents of `prepare`, by their id. */
  readonly #prepared = new Prepared<Buffer>();
  #hasLargeFiles = false;

  constructor(client: GitClient, scope: GitScope, use: SourceAccess['use']) {
    this.#client = client;
    this.#scope = scope;
    this.#use = use;
  }

  check(signal: AbortSignal): Promise<void> {
    return asSourceFailures(signal, async () => {
      const head = await this.#head(signal);
      if (head !== null) await this.#files(head, signal);
    });
  }

  list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    return asSourceFailures(signal, async () => {
      if (cursor !== null) {
        return this.#page(parsePosition(cursor), signal).catch((error: unknown) => {
          throw error instanceof ObjectMissing ? commitGone() : error;
        });
      }
      const to = await this.#head(signal);
      if (to === null) return nothing;
      const from = parseCheckpoint(checkpoint, scopeDigest(this.#scope));
      if (from !== null && from !== to) {
        try {
          await this.#files(from, signal);
        } catch (error) {
          if (!isNotListable(error)) throw error;
          return this.#first({ to, from: null, after: null }, signal);
        }
      }
      return this.#first({ to, from, after: null }, signal);
    });
  }

  async #first(position: Position, signal: AbortSignal): Promise<SourcePage> {
    return { ...(await this.#page(position, signal)), at: JSON.stringify(position) };
  }

  fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    return asSourceFailures(signal, async () => {
      try {
        return await this.#read({ ref, version, maxBytes }, signal);
      } catch (error) {
        // Another state of the file would count as the listed one: the whole listing begins again with the new head.
        const isGone =
          error instanceof ObjectMissing &&
          this.#commit !== null &&
          !(await this.#client.has(this.#commit, signal));
        throw isGone ? commitGone() : error;
      }
    });
  }

  /** In one pack. Where less than half of the files fit into its bounds, they are large: each is read by itself. */
  async prepare(refs: readonly string[], signal: AbortSignal): Promise<number> {
    const commit = this.#commit;
    if (commit === null || this.#hasLargeFiles) return 0;
    try {
      const files = await this.#files(commit, signal);
      const wanted = refs.map((ref) => files.find(ref)).filter((file) => file?.kind !== submoduleKind);
      const all = wanted.flatMap((file) => file?.id ?? []);
      const ids = [...new Set(all)];
      if (ids.length < 2) return 0;
      const format = await this.#client.format(signal);
      const blobs = await readBlobs(this.#client.blobPack(ids, signal), { ids, format }, signal);
      this.#prepared.add(blobs, all);
      this.#hasLargeFiles = blobs.size * 2 < ids.length;
      return all.filter((id) => blobs.has(id)).length;
    } catch {
      // Reading them one by one says what is wrong.
      signal.throwIfAborted();
      return 0;
    }
  }

  exists(ref: string, signal: AbortSignal): Promise<boolean> {
    return asSourceFailures(signal, async () => {
      const head = await this.#head(signal);
      return head !== null && (await this.#files(head, signal)).find(ref) !== null;
    });
  }

  async #page(position: Position, signal: AbortSignal): Promise<SourcePage> {
    const { to, from, after } = position;
    this.#commit = to;
    const unchanged = from === to;
    const lists = unchanged
      ? null
      : await Promise.all([
          this.#files(to, signal),
          from === null ? Promise.resolve(null) : this.#files(from, signal),
        ]);
    const part = lists === null ? null : partOf(lists, after);
    return {
      documents: (part?.changed ?? []).map(({ path, id }) => ({
        ref: path,
        name: path,
        version: id,
        byteSize: null,
        mediaType: null,
        url: webAddress(this.#scope, path),
      })),
      gone: part?.gone ?? [],
      next: part === null || part.after === null ? null : JSON.stringify({ ...position, after: part.after }),
      checkpoint: part === null || part.after === null ? writeCheckpoint(to, scopeDigest(this.#scope)) : null,
      total: from === null ? (lists?.[0].count ?? null) : null,
      scope: from === null ? 'everything' : 'changes',
    };
  }

  async #read(input: Omit<FetchInput, 'mediaType'>, signal: AbortSignal): Promise<Fetched> {
    const { ref, version, maxBytes } = input;
    this.#commit ??= await this.#head(signal);
    const file = this.#commit === null ? null : (await this.#files(this.#commit, signal)).find(ref);
    if (file === null) return { kind: 'gone' };
    if (file.id === version) return { kind: 'unchanged' };
    if (file.kind === submoduleKind) return { kind: 'skipped', code: 'not_a_document' };
    const content = this.#prepared.take(file.id) ?? (await this.#readAlone(file.id, maxBytes, signal));
    if (content === null || content.byteLength > maxBytes) return { kind: 'skipped', code: 'too_large' };
    return isLfsPointer(content)
      ? { kind: 'skipped', code: 'not_a_document' }
      : { kind: 'content', content, mediaType: null, version: file.id };
  }

  async #readAlone(id: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | null> {
    const format = await this.#client.format(signal);
    return readBlob(this.#client.blobPack([id], signal), { id, format, maxBytes });
  }

  /** Null: the repository is empty. */
  async #head(signal: AbortSignal): Promise<string | null> {
    const { branch } = this.#scope;
    const head = await this.#client.head(branch === null ? 'HEAD' : `refs/heads/${branch}`, signal);
    if (head === null && (branch !== null || (await this.#client.hasBranches(signal)))) {
      throw new SourceFailure(
        'scope_invalid',
        branch === null
          ? 'The repository has no default branch: name one.'
          : 'The repository has no such branch.',
      );
    }
    return head;
  }

  #files(commit: string, signal: AbortSignal): Promise<FileList> {
    const known = this.#lists.get(commit);
    if (known !== undefined) return known;
    const { client, scope, use } = { client: this.#client, scope: this.#scope, use: this.#use };
    const files = filesOf(commit, { client, scope, use }, signal);
    this.#lists.set(commit, files);
    files.catch(() => this.#lists.delete(commit));
    return files;
  }
}

function commitGone(): SourceFailure {
  return new SourceFailure('cursor_expired', 'The commit of the listing is gone from the repository.');
}

/** After a force push the commit may be gone; or it lacked the folder. A whole listing says what was deleted. */
function isNotListable(error: unknown): boolean {
  return error instanceof ObjectMissing || (error instanceof SourceFailure && error.code === 'scope_invalid');
}

function partOf([now, before]: readonly [FileList, FileList | null], after: string | null) {
  return before === null ? filePart(now, after) : changedPart(before, now, after);
}
