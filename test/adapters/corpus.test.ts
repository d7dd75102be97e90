import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type {
  DocumentFailureCode,
  DocumentMediaType,
} from '#domain/knowledge/collections/document-status.ts';
import type { Place } from '#domain/knowledge/ingestion/document-extractor.ts';
import { extractor } from '../support/extractor.ts';

type Expected =
  | { mediaType: DocumentMediaType; find: (Place & { text: string })[] }
  | { fails: DocumentFailureCode };
type Entry = { file: string; origin: string; licence: string; declared: DocumentMediaType } & Expected;

const corpus = new URL('../corpus/', import.meta.url);
const entries = JSON.parse(await readFile(new URL('manifest.json', corpus), 'utf8')) as Entry[];

async function extract({ file, declared }: Entry) {
  const content = await readFile(new URL(`files/${file}`, corpus));
  const source = { tenantId: 'a', read: () => Promise.resolve({ mediaType: declared, content }) };
  return extractor.extract(source, new AbortController().signal);
}

describe('real documents', () => {
  it('are of at least 14 formats, each with its origin and licence', () => {
    expect(entries.length).toBeGreaterThanOrEqual(60);
    const formats = new Set(entries.flatMap((entry) => ('mediaType' in entry ? [entry.mediaType] : [])));
    expect(formats.size).toBeGreaterThanOrEqual(14);
    expect(entries.filter(({ origin, licence }) => !origin.startsWith('https://') || licence === '')).toEqual(
      [],
    );
  });

  it.each(entries)('$file is read, each passage under its page and anchor', async (entry) => {
    if ('fails' in entry) {
      await expect(extract(entry)).rejects.toMatchObject({ code: entry.fails });
      return;
    }
    const { mediaType, text, chunks } = await extract(entry);
    expect(mediaType).toBe(entry.mediaType);
    for (const { text: wanted, page, anchor } of entry.find) {
      const found = chunks.filter((chunk) => chunk.text.includes(wanted));
      expect(found.map((chunk) => ({ page: chunk.page, anchor: chunk.anchor }))).toContainEqual({
        page,
        anchor,
      });
    }
    expect(chunks.filter(({ start, end, text: passage }) => text.slice(start, end) !== passage)).toEqual([]);
  });
});
