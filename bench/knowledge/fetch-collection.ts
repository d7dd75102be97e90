import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CollectionSource } from './collection-sources.ts';
import type { TestCollection } from './test-collection.ts';

/**
 * Reads a collection from the cache, and fetches first what it lacks. A file whose content is not the pinned one is
 * refused. @returns null when its files are neither cached nor within reach
 */
export async function fetchCollection(
  source: CollectionSource,
  cache: string,
): Promise<TestCollection | null> {
  const files: Record<string, string> = {};
  for (const [path, sha256] of Object.entries(source.files)) {
    const bytes = await cachedFile({
      url: source.folder + path,
      file: join(cache, source.name, path),
      sha256,
    });
    if (bytes === null) return null;
    files[path] = bytes.toString(path.endsWith('.json') ? 'utf8' : 'latin1');
  }
  return source.read(source.name, files);
}

interface PinnedFile {
  url: string;
  file: string;
  sha256: string;
}

async function cachedFile({ url, file, sha256 }: PinnedFile): Promise<Buffer | null> {
  const cached = existsSync(file) ? readFileSync(file) : null;
  if (cached !== null && digest(cached) === sha256) return cached;
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) }).catch(() => null);
  if (response?.ok !== true) return null;
  const bytes = Buffer.from(await response.arrayBuffer());
  if (digest(bytes) !== sha256) throw new Error(`${url} is not the pinned file.`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  return bytes;
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
