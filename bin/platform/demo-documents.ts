import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSourceCatalogue } from '#adapters/sources/create-source-catalogue.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { isRunnable } from '#domain/knowledge/connectors/connector-status.ts';
import { createConnector } from '#domain/knowledge/connectors/create-connector.ts';
import { requestSync } from '#domain/knowledge/connectors/request-sync.ts';
import { readSpaceEmbedding } from '#domain/knowledge/embeddings/read-space-embedding.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
/** The folder's name in `CONNECTOR_ROOTS`. */
const root = 'documentation';

/** Runs one use case in the demo's space. */
export type InSpace = <T>(work: (ctx: Context) => Promise<T>) => Promise<T>;

/**
 * Copies the project's own documents into the folder that the demo's connector reads, so that no connector reads the
 * checkout itself. A file that is the same keeps its time.
 */
export function copyDocuments(folder: string): void {
  const wanted = new Set(documents());
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!wanted.has(name) && statSync(join(folder, name)).isFile()) {
      rmSync(join(folder, name));
    }
  }
  for (const name of wanted) {
    const [from, to] = [join(checkout, name), join(folder, name)];
    mkdirSync(dirname(to), { recursive: true });
    if (!isSame(from, to)) {
      copyFileSync(from, to);
    }
  }
}

/**
 * Synchronises the folder by the demo's connector, which is created at the first start. Documents that an earlier
 * version has uploaded itself are deleted then.
 */
export async function synchroniseDocuments(inSpace: InSpace, collectionId: string): Promise<void> {
  await inSpace(async (ctx) => {
    const known = await ctx.em.findOne(Connector, { collectionId, providerSlug: 'filesystem' });
    if (known === null) {
      for (const { id } of await ctx.em.find(Document, { collectionId })) {
        await deleteDocument(ctx, { collectionId, documentId: id });
      }
      await createConnector(ctx, createSourceCatalogue(), {
        collectionId,
        providerSlug: 'filesystem',
        scopeConfig: { root },
        credentialId: null,
        syncSchedule: { type: 'interval', minutes: 60 },
        idempotency: null,
      });
    } else if (isRunnable(known.status)) {
      const ref = { collectionId, connectorId: known.id };
      await requestSync(ctx, { ...ref, mode: 'incremental', confirmDeletions: true, idempotency: null });
    }
  });
}

/** How far the documents are. */
export interface DocumentsState {
  /** Whether a run of their connector is open: documents may be missing. */
  reading: boolean;
  /** Documents that are found by their words only so far. */
  unembedded: number;
}

/**
 * Resolves when no run of the collection's connectors is open, or after so many seconds. A start does not wait for the
 * vectors of the documents, which take longer.
 */
export async function waitUntilSynchronised(
  inSpace: InSpace,
  collectionId: string,
  seconds: number,
): Promise<DocumentsState> {
  for (const deadline = Date.now() + seconds * 1_000; ; await sleep(200)) {
    const state = await inSpace((ctx) => documentsState(ctx, collectionId));
    if (!state.reading || Date.now() >= deadline) {
      return state;
    }
  }
}

async function documentsState(ctx: Context, collectionId: string): Promise<DocumentsState> {
  const connectors = await ctx.em.find(Connector, { collectionId });
  const connectorId = { $in: connectors.map(({ id }) => id) };
  const open = await ctx.em.count(SyncRun, { connectorId, completedAt: null });
  const { pendingDocuments } = await readSpaceEmbedding(ctx);
  return { reading: open > 0, unembedded: pendingDocuments };
}

/** README, contribution guide and everything in docs/ that is Markdown. */
function documents(): string[] {
  const guides = readdirSync(join(checkout, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return ['README.md', 'CONTRIBUTING.md', ...guides];
}

function isSame(from: string, to: string): boolean {
  try {
    return readFileSync(from).equals(readFileSync(to));
  } catch {
    return false;
  }
}
