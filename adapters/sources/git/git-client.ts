import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { followRedirects } from '../shared/follow-redirects.ts';
import { statusFailure } from '../shared/http-failure.ts';
import { discardBody } from '../shared/bounded-body.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import { lineText, ObjectMissing, pktRequest, readPktLines, refusal } from './pkt-line.ts';

export interface ObjectFormat {
  name: 'sha1' | 'sha256';
  /** Bytes of an object's id. */
  idBytes: number;
}

interface Server {
  /** After redirects, as git does it: of the first request only. */
  base: string;
  authorization: Record<string, string>;
  format: ObjectFormat;
  /** Whether trees can be asked for without the contents of files. */
  filters: boolean;
}

/** More lines than any answer needs before what is looked for. */
const maxLines = 100_000;
const agent = 'agent=git/platform';

/** A client of smart HTTP, version 2 of the protocol, that only reads: branches, trees and single files. */
export class GitClient {
  readonly #fetch: typeof globalThis.fetch;
  readonly #url: string;
  readonly #authorization: Record<string, string>;
  #server: Promise<Server> | null = null;

  constructor(fetch: typeof globalThis.fetch, url: string, authorization: Record<string, string>) {
    this.#fetch = fetch;
    this.#url = withoutSlashes(url);
    this.#authorization = authorization;
  }

  async format(signal: AbortSignal): Promise<ObjectFormat> {
    return (await this.#connect(signal)).format;
  }

  /** The id of a branch's head; null: there is none. `HEAD` is the default branch. */
  async head(ref: string, signal: AbortSignal): Promise<string | null> {
    for await (const [id, name] of this.#refs(ref, signal)) {
      if (name === ref) return id;
    }
    return null;
  }

  async hasBranches(signal: AbortSignal): Promise<boolean> {
    for await (const [, name] of this.#refs('refs/heads/', signal)) {
      if (name.startsWith('refs/heads/')) return true;
    }
    return false;
  }

  /** A pack with the commit and its trees; a server without filters adds the contents of all files. */
  async *treePack(commit: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { filters } = await this.#connect(signal);
    yield* this.#pack(
      ['ofs-delta', `want ${commit}`, 'deepen 1', ...(filters ? ['filter blob:none'] : [])],
      signal,
    );
  }

  /** Whether the server has a commit; no more of it is read than that takes. */
  async has(commit: string, signal: AbortSignal): Promise<boolean> {
    try {
      for await (const _ of this.treePack(commit, signal)) break;
      return true;
    } catch (error) {
      if (error instanceof ObjectMissing) return false;
      throw error;
    }
  }

  /** A pack with these files and nothing else. */
  blobPack(ids: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const wants = ids.map((id) => `want ${id}`);
    return this.#pack(ids.length === 1 ? wants : ['ofs-delta', ...wants], signal);
  }

  async *#refs(prefix: string, signal: AbortSignal): AsyncGenerator<[id: string, name: string]> {
    let count = 0;
    for await (const line of await this.#command('ls-refs', [`ref-prefix ${prefix}`], signal)) {
      if (typeof line === 'string') return;
      if ((count += 1) > maxLines) break;
      const [id = '', name = ''] = lineText(line).split(' ');
      if (/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(id)) yield [id, name];
    }
    throw new SourceFailure('source_invalid', 'The list of branches has no end.');
  }

  async *#pack(args: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let begun = false;
    let count = 0;
    for await (const line of await this.#command('fetch', ['no-progress', ...args, 'done'], signal)) {
      if (!begun) {
        if ((count += 1) > maxLines) break;
        begun = typeof line !== 'string' && lineText(line) === 'packfile';
      } else if (line === 'flush') {
        return;
      } else if (typeof line !== 'string') {
        if (line[0] === 3) throw refusal(Buffer.from(line).toString('latin1'));
        if (line[0] === 1) yield line.subarray(1);
      }
    }
    throw new SourceFailure('source_unreachable', 'The source ended its answer too early.');
  }

  async #command(command: string, args: readonly string[], signal: AbortSignal) {
    const { base, authorization, format } = await this.#connect(signal);
    const response = await this.#fetch(`${base}/git-upload-pack`, {
      method: 'POST',
      headers: {
        ...authorization,
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
        'git-protocol': 'version=2',
      },
      body: pktRequest([`command=${command}`, agent, `object-format=${format.name}`], args),
      signal,
    });
    if (response.status !== 200) {
      await discardBody(response);
      throw response.status >= 400 ? statusFailure(response) : notGit();
    }
    return readPktLines(response.body ?? []);
  }

  #connect(signal: AbortSignal): Promise<Server> {
    this.#server ??= this.#advertised(signal).catch((error: unknown) => {
      this.#server = null;
      throw error;
    });
    return this.#server;
  }

  async #advertised(signal: AbortSignal): Promise<Server> {
    const path = '/info/refs?service=git-upload-pack';
    const { response, url } = await followRedirects(
      this.#fetch,
      this.#url + path,
      { headers: { 'git-protocol': 'version=2' }, signal },
      this.#authorization,
    );
    const type = response.headers.get('content-type') ?? '';
    if (response.status !== 200 || !type.startsWith('application/x-git-upload-pack-advertisement')) {
      await discardBody(response);
      throw response.status >= 400 && response.status !== 404 ? statusFailure(response) : notGit();
    }
    const capabilities = await readCapabilities(response);
    if (!capabilities.has('version 2') || !url.endsWith(path)) {
      throw new SourceFailure('scope_invalid', "The server does not speak version 2 of git's protocol.");
    }
    const fetches = [...capabilities].find((each) => each.startsWith('fetch=')) ?? '';
    const sha256 = capabilities.has('object-format=sha256');
    return {
      base: url.slice(0, -path.length),
      authorization: new URL(url).origin === new URL(this.#url).origin ? this.#authorization : {},
      format: sha256 ? { name: 'sha256', idBytes: 32 } : { name: 'sha1', idBytes: 20 },
      filters: fetches.slice('fetch='.length).split(' ').includes('filter'),
    };
  }
}

async function readCapabilities(response: Response): Promise<Set<string>> {
  const capabilities = new Set<string>();
  let isVersion2 = false;
  for await (const line of readPktLines(response.body ?? [])) {
    if (line === 'flush' && isVersion2) break;
    if (typeof line === 'string') continue;
    const text = lineText(line);
    isVersion2 ||= text === 'version 2';
    capabilities.add(text);
    // A server of an older version lists its branches here.
    if (!isVersion2 && capabilities.size > 1) break;
    if (capabilities.size > 100) break;
  }
  return capabilities;
}

function notGit(): SourceFailure {
  return new SourceFailure(
    'scope_invalid',
    'The address serves no git repository, or not to this credential.',
  );
}
