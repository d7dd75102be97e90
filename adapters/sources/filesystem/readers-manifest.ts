import { z } from 'zod';
import { foldCase } from '#domain/identity/principals/fold-address.ts';
import { SourceFailure, type SourceGroup, type SourceReaders } from '#domain/knowledge/connectors/source.ts';
import { isAbsent } from './file-failure.ts';
import { openBeneath } from './open-beneath.ts';
import { readBounded } from './read-bounded.ts';

export const manifestName = '.readers.json';
const maxBytes = 1_048_576;

const address = z.string().min(3).max(320).transform(foldCase);
const group = z.string().min(1).max(200);
const manifestSchema = z.strictObject({
  groups: z.record(group, z.array(address)).default({}),
  documents: z.record(
    z.string(),
    z.union([
      z.literal('public'),
      z.strictObject({ addresses: z.array(address).default([]), groups: z.array(group).default([]) }),
    ]),
  ),
});

export interface ReadersManifest {
  groups: readonly SourceGroup[];
  /**
   * Of the entry for the document itself, else of the nearest folder with one, else nobody. Different forms of the same
   * Unicode characters are equal: a file that comes from another system would have its folder's readers.
   */
  readersOf(path: string): SourceReaders;
}

/**
 * The file that says who may read what. If it cannot be read or understood, the run fails: without it, everybody in
 * the space would read everything.
 * @returns null: there is none
 */
export async function readManifest(root: string): Promise<ReadersManifest | null> {
  let content: Uint8Array | null;
  try {
    content = await readContent(root);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return null;
    }
    if (isAbsent(error)) {
      throw invalid('is not a file');
    }
    throw error;
  }
  if (content === null) {
    throw invalid(`has more than ${maxBytes} bytes`);
  }
  const parsed = manifestSchema.safeParse(parseJson(content));
  if (!parsed.success) {
    throw invalid('does not have the documented form');
  }
  const documents = new Map(
    Object.entries(parsed.data.documents).map(([path, readers]) => [path.normalize('NFC'), readers]),
  );
  if (documents.size < Object.keys(parsed.data.documents).length) {
    throw invalid('names a document twice, in different forms of the same characters');
  }
  return {
    groups: Object.entries(parsed.data.groups).map(([id, members]) => ({ id, members })),
    readersOf: (path) => nearest(documents, path.normalize('NFC')) ?? { addresses: [], groups: [] },
  };
}

async function readContent(root: string): Promise<Uint8Array | null> {
  const { handle } = await openBeneath(root, [manifestName], 'file');
  try {
    return await readBounded(handle, maxBytes);
  } finally {
    await handle.close();
  }
}

function nearest<T>(entries: ReadonlyMap<string, T>, path: string): T | undefined {
  let found = entries.get(path);
  for (
    let end = path.lastIndexOf('/');
    found === undefined && end > 0;
    end = path.lastIndexOf('/', end - 1)
  ) {
    found = entries.get(path.slice(0, end + 1));
  }
  return found ?? entries.get('/');
}

function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch {
    throw invalid('is not JSON');
  }
}

function invalid(what: string): SourceFailure {
  return new SourceFailure('source_invalid', `The file ${manifestName} of the root ${what}.`);
}
