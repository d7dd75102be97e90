import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { embeddedText } from '#domain/knowledge/ingestion/embedded-text.ts';
import type { World } from '#test/support/world.ts';
import type { Lab } from '../support/lab.ts';
import { writeDocument } from './documents.ts';

const uploaders = 4;
const maxMs = 3_600_000;

/** A tenant's collection whose documents are embedded by the builtin model. */
export interface Ingestion {
  lab: Lab;
  admin: Client;
  world: World;
  collectionId: string;
  random: () => number;
}

export async function openIngestion(given: Omit<Ingestion, 'collectionId'>): Promise<Ingestion> {
  const { id } = await post<{ id: string }>(given, 'collections', { name: 'Ingest' });
  return { ...given, collectionId: id };
}

/** Uploads so many new documents, and waits until each passage has its vector. */
export async function ingest(
  ingestion: Ingestion,
  documents: number,
): Promise<{ ids: string[]; seconds: number }> {
  const { admin, collectionId, random } = ingestion;
  const contents = Array.from({ length: documents }, () => writeDocument(random));
  const startedAt = performance.now();
  const ids: string[] = [];
  const left = contents.values();
  await Promise.all(
    Array.from({ length: uploaders }, async () => {
      for (const content of left) {
        const body = { filename: 'document.md', media_type: 'text/markdown', content };
        const { id } = await post<{ id: string }>(ingestion, `collections/${collectionId}/documents`, body);
        ids.push(id);
      }
    }),
  );
  for (;;) {
    const { rows } = await admin.query<{ left: number; failed: number }>(
      `select count(*) filter (where status = 'failed')::int as failed,
         count(*) filter (where status = 'processing' or embedding_pending)::int as left
       from documents where id = any($1)`,
      [ids],
    );
    const [state = { left: ids.length, failed: 0 }] = rows;
    const seconds = (performance.now() - startedAt) / 1_000;
    if (state.failed > 0) throw new Error(`${state.failed} documents failed.`);
    if (state.left === 0) return { ids, seconds };
    if (seconds * 1_000 > maxMs) throw new Error('The documents were not embedded in time.');
    await sleep(50);
  }
}

/** The texts of the documents' passages as the model received them. */
export async function passagesOf({ admin }: Ingestion, ids: readonly string[]): Promise<string[]> {
  const { rows } = await admin.query<{ text: string }>(
    `select ${embeddedText('c')} as text from chunks c
       join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
     where c.document_id = any($1) order by c.document_id, c.position`,
    [ids],
  );
  return rows.map(({ text }) => text);
}

async function post<T>(
  { lab, world }: Omit<Ingestion, 'collectionId'>,
  path: string,
  body: object,
): Promise<T> {
  for (;;) {
    const answer = await fetch(`${lab.gatewayUrl}/api/v1/spaces/${world.spaceId}/${path}`, {
      method: 'POST',
      headers: { 'x-api-key': world.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    // So many documents of a tenant wait already.
    if (answer.status === 429 || answer.status === 503) {
      await answer.body?.cancel();
      await sleep(500);
      continue;
    }
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return ((await answer.json()) as { data: T }).data;
  }
}
