import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Context } from '#domain/foundation/access/context.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

/** Runs one use case in the demo's space. */
export type InSpace = <T>(work: (ctx: Context) => Promise<T>) => Promise<T>;

/**
 * Uploads the project's own documents: new ones, and those with a changed content hash; removed ones are
 * deleted.
 */
export async function refreshDocuments(inSpace: InSpace, collectionId: string): Promise<void> {
  const wanted = new Map(documents().map((name) => [name, readFileSync(`${checkout}${name}`, 'utf8')]));
  const known = await inSpace((ctx) => ctx.em.find(Document, { collectionId }));
  for (const { id, filename, contentHash } of known) {
    const content = wanted.get(filename);
    if (content !== undefined && sha256(content) === contentHash) {
      wanted.delete(filename);
    } else {
      await inSpace((ctx) => deleteDocument(ctx, { collectionId, documentId: id }));
    }
  }
  for (const [filename, content] of wanted) {
    await inSpace((ctx) =>
      uploadDocument(ctx, { collectionId, filename, mediaType: 'text/markdown', content }),
    );
  }
}

/**
 * Resolves when every document is found by its words, or after so many seconds. A start does not wait for their vectors,
 * which take longer.
 */
export async function waitUntilSearchable(
  inSpace: InSpace,
  collectionId: string,
  seconds: number,
): Promise<void> {
  for (const deadline = Date.now() + seconds * 1_000; Date.now() < deadline; await sleep(200)) {
    const left = await inSpace((ctx) =>
      ctx.em.count(Document, { collectionId, status: 'processing', generation: 0 }),
    );
    if (left === 0) {
      return;
    }
  }
}

/** README, contribution guide and everything in docs/ that is Markdown. */
function documents(): string[] {
  const guides = readdirSync(`${checkout}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`);
  return ['README.md', 'CONTRIBUTING.md', ...guides].sort();
}
