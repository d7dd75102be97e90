import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddingServer, type EmbeddingServer } from '../support/embedding-server.ts';
import { mulberry32 } from '../support/model-script.ts';
import { deploy, type Deployment } from './deployment.ts';
import { Fleet } from './fleet.ts';
import { KnowledgeClient, type KnowledgeSpace } from './knowledge-client.ts';
import { knowledgeDocuments, type SourceDocument } from './knowledge-documents.ts';
import { shuffled, type KnowledgeOptions } from './knowledge-plan.ts';
import { Recoveries } from './knowledge-recovery.ts';
import type { KnowledgeRun } from './knowledge-report.ts';
import { documentRows, generations, isEmbedded, until } from './knowledge-rows.ts';
import { KnowledgeSearches } from './knowledge-searches.ts';
import { strikeKnowledge, type KnowledgeField, type KnowledgeStrike } from './knowledge-strikes.ts';
import { compareSearches, compareSpaces, strays } from './knowledge-verdict.ts';

/** Vectors of each model have a length of their own: those of one cannot be taken for those of another. */
const dims = [48, 64];
/** An answer of a model takes so long while processes are killed. */
const answerMs = 150;
const stuckAfterMs = 180_000;

/**
 * Documents are uploaded, and then their space's model is changed, while workers, PostgreSQL and Temporal are killed
 * and searches go on; at the end passages and vectors are compared with those of a space without any kill.
 */
export async function runKnowledge(options: KnowledgeOptions): Promise<KnowledgeRun> {
  const servers = await Promise.all(dims.map((each) => startEmbeddingServer(each)));
  try {
    const egress = servers.map(({ origin }) => origin);
    const deployment = await deploy({ gateways: 1, workers: 2, parts: [], egress });
    try {
      return await runOn(deployment, servers, options);
    } finally {
      await deployment.stop();
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function runOn(
  deployment: Deployment,
  servers: readonly EmbeddingServer[],
  options: KnowledgeOptions,
): Promise<KnowledgeRun> {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const say = (line: string) => options.say(`${seconds()} s  ${line}`);
  const random = mulberry32(options.seed);
  const { query, stack } = deployment;
  const documents = knowledgeDocuments(random, options.documents);
  const client = new KnowledgeClient(stack.gateways[0]!, deployment.world);
  const models: string[] = [];
  for (const [at, { origin }] of servers.entries())
    models.push(await client.addModel(`model-${at}`, origin, dims[at]!));
  const space = await client.addSpace('Disturbed');
  const undisturbed = await client.addSpace('Undisturbed');
  const spaces = { disturbed: space, undisturbed };
  const change = (of: KnowledgeSpace, at: number) => client.changeModel(of, models[at]!);
  const active = (of: KnowledgeSpace, at: number) =>
    until(`Model ${at} was not active`, stuckAfterMs, async () => {
      const rows = await generations(query, of);
      if (rows.some(({ state }) => state === 'building')) return null;
      return rows.find(({ state, model_id: id }) => state === 'active' && id === models[at])?.id ?? null;
    });
  const complete = (of: KnowledgeSpace, count: number) =>
    until('Documents were not ready with all vectors', stuckAfterMs, async () => {
      const rows = await documentRows(query, of);
      if (rows.length === count && rows.every(isEmbedded)) return rows;
      const unfinished = rows.filter((row) => !isEmbedded(row));
      throw new Error(`${rows.length} of ${count}, unfinished: ${JSON.stringify(unfinished)}`);
    });

  for (const each of [space, undisturbed]) {
    await change(each, 0);
    await active(each, 0);
  }
  for (const document of documents) await client.upload(undisturbed, document);
  await complete(undisturbed, documents.length);
  say(`${documents.length} documents embedded without a kill`);

  for (const server of servers) server.delayMs = answerMs;
  const fleet = new Fleet(stack);
  const searches = new KnowledgeSearches(client, space, documents);
  const field: KnowledgeField = { deployment, fleet, space, searches, random };
  const recoveries = new Recoveries(field);
  const missed: string[] = [];
  const over = new AbortController();
  const searching = Promise.all([
    searches.run(mulberry32(options.seed + 1), over.signal),
    watch(field, over.signal),
  ]);
  searching.catch(() => undefined);
  /** @returns why nothing was struck; null: it was */
  const tryToStrike = async (kind: KnowledgeStrike): Promise<string | null> => {
    try {
      const struck = await strikeKnowledge(field, kind);
      recoveries.follow(struck);
      say(`${kind} ${struck.signal} over ${struck.held.length} documents, ${searches.done} searches`);
      return null;
    } catch (error) {
      const reason = `${kind}: ${(error as Error).message}`;
      say(reason);
      return reason;
    }
  };
  const pause = () => sleep(random() * options.pauseMs);
  const strike = async (kind: KnowledgeStrike) => {
    const reason = await tryToStrike(kind);
    if (reason !== null) missed.push(reason);
  };
  try {
    const waiting = documents.values();
    const uploads: Promise<unknown>[] = [];
    const kills = options.uploading.length + options.changing.length;
    /** The share of the documents that belongs to one kill, or to one change; the last change has the others. */
    const upload = (isLast = false) => {
      const share = isLast ? documents.length : Math.floor(documents.length / kills);
      uploads.push(uploadEach(client, space, [...take(waiting, share)]));
    };
    for (const kind of shuffled(options.uploading, random)) {
      // Otherwise all of it may be done before the replacement of the worker that was killed before is ready.
      await fleet.untilReady('worker', 2);
      await pause();
      upload();
      // The moment between the passages and the vectors of a document is short, and may pass unseen.
      if ((await tryToStrike(kind)) !== null) {
        upload();
        await strike(kind);
      }
    }
    await fleet.settle();
    await Promise.all(uploads);
    await complete(space, (await documentRows(query, space)).length);
    say('every document is ready');

    let model = 0;
    for (const [nth, plan] of options.changing.entries()) {
      model = 1 - model;
      searches.expectedGeneration = null;
      await change(space, model);
      upload(nth === options.changing.length - 1);
      for (const kind of shuffled(plan, random)) {
        await pause();
        await strike(kind);
      }
      await fleet.settle();
      searches.expectedGeneration = await active(space, model);
      say(`model ${model} is active`);
    }
    await Promise.all(uploads);
    await complete(space, documents.length);
    for (const server of servers) server.delayMs = 0;
    if (model !== 0) {
      await change(undisturbed, model);
      await active(undisturbed, model);
    }
    await sleep(500);
    over.abort();
    await searching;
    return {
      seed: options.seed,
      documents: documents.length,
      struck: recoveries.struck,
      missed: [...missed, ...fleet.failures.map(({ message }) => message)],
      recoveryMs: await recoveries.all(),
      searches,
      compared: await compareSpaces(query, spaces),
      strays: await strays(query, space),
      searchDifferences: await compareSearches(client, spaces, documents.slice(0, 20)),
      stuck: await runningWorkflows(deployment),
      seconds: seconds(),
    };
  } finally {
    over.abort();
    await searching.catch(() => undefined);
    await fleet.settle();
  }
}

function* take<T>(from: Iterator<T>, count: number): Generator<T> {
  for (let taken = 0; taken < count; taken += 1) {
    const next = from.next();
    if (next.done === true) return;
    yield next.value;
  }
}

async function uploadEach(
  client: KnowledgeClient,
  space: KnowledgeSpace,
  documents: readonly SourceDocument[],
): Promise<void> {
  for (const document of documents) await client.upload(space, document);
}

/** Notes which documents are ready, as searches may expect from then on. */
async function watch({ deployment, space, searches }: KnowledgeField, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const rows = await documentRows(deployment.query, space).catch(() => []);
    for (const { filename, status } of rows) if (status === 'ready') searches.ready.add(filename);
    await sleep(250);
  }
}

/**
 * Workflows of documents and of spaces that do not end though nothing is left to do; without those of the world's own
 * space, whose model has no weights here.
 */
async function runningWorkflows({ stack, world }: Deployment): Promise<string[]> {
  const query = `ExecutionStatus = 'Running' and WorkflowType in ('ingestDocument', 'embedSpace')
    and SpaceId != '${world.spaceId}'`;
  let running: string[] = [];
  await until('', 60_000, async () => {
    running = [];
    for await (const { workflowId } of stack.temporal.workflow.list({ query })) running.push(workflowId);
    return running.length === 0 ? true : null;
  }).catch(() => undefined);
  return running;
}
