import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, vi } from 'vitest';
import { createConnectorActivities } from '#activities/connectors/create-connector-activities.ts';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import type { SourceReaders } from '#domain/knowledge/connectors/source.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { openEngine, type Engine } from '../engine.ts';
import { openGateway, type TestGateway } from '../gateway.ts';
import type { KnowledgeWorld } from '../knowledge-world.ts';
import { wordEmbedders, type WordEmbedders } from '../word-embedders.ts';
import { startWorkflowWorker } from '../workflow-worker.ts';
import { addMember, secrets } from '../world.ts';
import { ConnectorSpace, testProviders } from './connector-space.ts';
import { MemorySource, memoryProvider } from './memory-source.ts';
import { noOtherWork } from '../no-other-work.ts';
import { extractor } from '../extractor.ts';

export interface Person {
  principalId: string;
  apiKey: string;
  /** Kinds of readers that include the person at the source. */
  reads: ReadonlySet<ReadersKind>;
}

export const readersKinds = [
  'public',
  'ada',
  'sales',
  'none',
  'board',
  'both',
  'nobody',
  'unknown',
  'domain',
] as const;
export type ReadersKind = (typeof readersKinds)[number];

/** Ids of groups are any text. */
const board = String.raw`board "A", {\B} ?`;

const readersOfKind: Readonly<Record<ReadersKind, SourceReaders | undefined>> = {
  public: 'public',
  ada: { addresses: ['ada@example.com'], groups: [] },
  sales: { addresses: [], groups: ['sales'] },
  board: { addresses: [], groups: [board] },
  both: { addresses: ['ben@example.com', 'ADA@example.com'], groups: [board] },
  nobody: { addresses: [], groups: [] },
  unknown: { addresses: [], groups: ['formers'] },
  none: undefined,
  domain: { addresses: [], groups: [], domains: ['Example.COM'] },
};

/** Forty documents of one source with every kind of readers, and five principals who ask for them. */
export interface ReadersWorld {
  engine: Engine;
  gateway: TestGateway;
  embedders: WordEmbedders;
  source: MemorySource;
  space: ConnectorSpace;
  people: Record<'ada' | 'ben' | 'cleo' | 'dora' | 'bot', Person>;
  /** Path of the collection. */
  path: string;
  kindOf(ref: string): ReadersKind;
  put(ref: string, kind?: ReadersKind): void;
  /** A run as the actor of the connector does it, then the vectors of what it stored. */
  sync(): Promise<SyncRun>;
  enforce(enforced: boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function openReadersWorld(): Promise<ReadersWorld> {
  const engine = await openEngine();
  const embedders = wordEmbedders();
  const gateway = await openGateway(engine.database, {}, embedders);
  const { unitOfWork } = engine.database;
  const source = new MemorySource();
  source.pageSize = 7;
  const providers = testProviders([memoryProvider(new Map([['s', source]]))]);
  const worker = await startWorkflowWorker(
    createConnectorActivities({ unitOfWork, sources: providers, extractor, bulk: noOtherWork }),
  );
  const { tenantId, spaceId, owner, apiKey } = engine.world;
  const fixture = { tenantId, spaceId, principalId: owner.principalId };
  const world = {
    unitOfWork,
    secrets,
    admin: engine.admin,
    addSpace: () => Promise.resolve(fixture),
    act: (_space, work) => engine.act(work),
  } satisfies Partial<KnowledgeWorld>;
  const space = await ConnectorSpace.create(world as unknown as KnowledgeWorld, providers, {
    providerSlug: 'memory',
    scopeConfig: { name: 's' },
  });
  const path = `/v1/spaces/${spaceId}/collections/${space.collectionId}`;
  const { connectorId } = space;
  const handle = await worker.client.start('runConnector', {
    taskQueue: worker.taskQueue,
    workflowId: `connector/${tenantId}/${connectorId}`,
    args: [{ tenantId, connectorId }],
  });
  const { embedSpace } = createKnowledgeActivities({ unitOfWork, extractor, embedders });
  const kindOf = (ref: string) => readersKinds[Number(ref) % readersKinds.length]!;
  const put: ReadersWorld['put'] = (ref, kind = kindOf(ref)) => {
    const readers = readersOfKind[kind];
    const text = `The beacon at pier ${ref} has colour shade${ref}.`;
    source.put(ref, text, { version: '1', ...(readers === undefined ? {} : { readers }) });
  };
  const person = async (reads: ReadersKind[], email: string | null, type = 'user'): Promise<Person> => {
    const member = await addMember(unitOfWork, engine.world);
    await engine.admin.query('update principals set email = $2, type = $3 where id = $1', [
      member.principalId,
      email,
      type,
    ]);
    return { ...member, reads: new Set<ReadersKind>(['public', 'none', ...reads]) };
  };
  const people = {
    ada: await person(['ada', 'both', 'domain'], 'Ada@Example.com'),
    ben: await person(['sales', 'both', 'domain'], 'ben@example.com'),
    cleo: await person(['sales', 'board', 'both', 'domain'], 'cleo@example.com'),
    dora: await person([], 'dora@sub.example.com'),
    bot: await person([], 'ada@example.com', 'service_account'),
  };
  source.members.set('sales', ['ben@example.com', 'CLEO@example.com']);
  source.members.set(board, ['cleo@example.com']);
  for (let n = 0; n < 40; n += 1) {
    put(String(n));
  }
  return {
    engine,
    gateway,
    embedders,
    source,
    space,
    people,
    path,
    kindOf,
    put,
    sync: async () => {
      const { id } = await space.request();
      await handle.signal('syncRequested', id);
      const found = async () => (await space.runs()).find((run) => run.id === id)!;
      await vi.waitUntil(async () => (await found()).completedAt != null, { timeout: 30_000, interval: 100 });
      const input = { tenantId, spaceId };
      const embed = () => new MockActivityEnvironment().run(embedSpace, input) as Promise<{ state: string }>;
      while ((await embed()).state === 'more');
      return found();
    },
    enforce: async (enforced) => {
      const body = { enforce_source_readers: enforced };
      const changed = await gateway.send({ method: 'PATCH', path, apiKey, body });
      expect(changed.body.data.enforce_source_readers).toBe(enforced);
    },
    stop: async () => {
      await worker.stop();
      await gateway.close();
      await engine.stop();
    },
  };
}
