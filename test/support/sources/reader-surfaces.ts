import { MockActivityEnvironment } from '@temporalio/testing';
import { runCall } from '#activities/responses/run-call.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { listSourceDocuments } from '#domain/knowledge/connectors/list-source-documents.ts';
import { citedFiles } from '../cited-files.ts';
import { requestOf } from '../engine.ts';
import { longTexts } from '../long-texts.ts';
import { secrets } from '../world.ts';
import type { Person, ReadersWorld } from './readers-world.ts';
import { noMetrics } from '../no-metrics.ts';

const question = 'Which colour has the beacon?';

/** Every way to documents, each with the references of those that a person gets by it, in their order. */
export const surfaces: Readonly<Record<string, (world: ReadersWorld, person: Person) => Promise<string[]>>> =
  {
    'search by keyword': (world, person) => search(world, person, 0),
    'search by meaning': (world, person) => search(world, person, 1),
    'results of a response': async (world, person) => (await respond(world, person)).shown,
    'citations of a response': async (world, person) => (await respond(world, person)).cited,
    list: async ({ gateway, path }, { apiKey }) => {
      const page = await gateway.send({ method: 'GET', path: `${path}/documents?limit=100`, apiKey });
      return refsOf(page.body.data as { filename: string }[]);
    },
    read: (world, person) => each(world, person, ''),
    passages: (world, person) => each(world, person, '/passages'),
    download: (world, person) => each(world, person, '/content'),
    'documents of the source': async ({ engine, space }, { principalId }) => {
      const page = await engine.act(
        (ctx) => listSourceDocuments(ctx, { ...space.ref, state: null, limit: 100, cursor: null }),
        { principalId },
      );
      return page.items.map(({ ref }) => ref).toSorted(byNumber);
    },
  };

const byNumber = (a: string, b: string) => Number(a) - Number(b);

const refsOf = (named: readonly { filename: string }[]): string[] =>
  [...new Set(named.map(({ filename }) => filename.replace('.md', '')))].toSorted(byNumber);

async function search({ gateway, engine }: ReadersWorld, { apiKey }: Person, alpha: number) {
  const answer = await gateway.send({
    method: 'POST',
    path: `/v1/spaces/${engine.world.spaceId}/tools/knowledge_search/execute`,
    apiKey,
    body: { query: question, max_results: 50, alpha },
  });
  return refsOf(answer.body.data.results as { filename: string }[]);
}

/** Documents that a person reaches by their ids, which everybody may know. */
async function each({ engine, gateway, path, space }: ReadersWorld, { apiKey }: Person, what: string) {
  const { rows } = await engine.admin.query<{ id: string; filename: string }>(
    'select id, filename from documents where collection_id = $1',
    [space.collectionId],
  );
  const found: { filename: string }[] = [];
  for (const { id, filename } of rows) {
    const answer = await gateway.send({ method: 'GET', path: `${path}/documents/${id}${what}`, apiKey });
    if (answer.status === 200) {
      found.push({ filename });
    } else if (answer.status !== 404 || answer.body.error.code !== 'document_not_found') {
      throw new Error(`Unexpected ${answer.status}.`);
    }
  }
  return refsOf(found);
}

/** A response of a person that searches once, as the worker does it. */
export async function respond(
  { engine, embedders }: ReadersWorld,
  { principalId }: Person,
): Promise<{ id: string; cited: string[]; shown: string[] }> {
  const id = newResponseId();
  const tools = [{ type: 'knowledge_search' as const, collectionIds: null, maxNumResults: 50, alpha: 0.5 }];
  const input = requestOf(engine.world, { tools, include: ['file_search_call.results'] });
  const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
  await engine.act((ctx) => createResponse(ctx, input, { responseId: id, limits }), { principalId });
  const attempt = await engine.attempt(id);
  const call = { name: 'knowledge_search', arguments: JSON.stringify({ query: question }) };
  await attempt.commit({ calls: [call], reason: 'tool_calls' });
  const { database, unitOfWork } = engine.database;
  const deps = {
    database,
    unitOfWork,
    secrets,
    embedders,
    metrics: noMetrics,
    longTexts,
    names: { find: () => Promise.resolve([]) },
    toolServers: { call: never, discover: never, prepare: async () => undefined, endSession: never },
  };
  const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 0, callIndex: 0 };
  await new MockActivityEnvironment().run(() => runCall(deps, key));
  const [item] = (await engine.record(id)).output as { results?: { filename: string }[] }[];
  const prompt = (await engine.attempt(id, 1)).turn.messages.at(-1) as { result: string };
  return {
    id,
    cited: refsOf([...citedFiles(prompt.result).values()]),
    shown: refsOf(item?.results ?? []),
  };
}

const never = () => Promise.reject(new Error('No server is called.'));
