import { MikroORM, type EntityManager } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { readContent } from '#domain/knowledge/collections/read-content.ts';
import { runKnowledgeTool } from '#domain/knowledge/search/knowledge-tool.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import { nearestPassages } from '#domain/knowledge/search/nearest-passages.ts';
import { searchSpace, type CallerAccess } from '#domain/knowledge/search/search-space.ts';
import { searchSpaces } from '#domain/knowledge/search/search-spaces.ts';
import { ormConfig } from '#domain/operations/schema/orm.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { citedFiles } from '../support/cited-files.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { ingest } from '../support/ingest.ts';
import { connect } from '../support/tables.ts';
import { wordEmbedders, wordVector } from '../support/word-embedders.ts';
import { addMember, createWorld, secrets, type World } from '../support/world.ts';

const tenantCount = 3;
const spacesOfTenant = 2;
const collectionsOfSpace = 2;

interface Stored {
  tenantId: string;
  spaceId: string;
  collectionId: string;
  documentId: string;
  text: string;
}

interface Member {
  name: string;
  tenantId: string;
  apiKey: string;
  /** The spaces that it may search. */
  spaces: string[];
}

const embedders = wordEmbedders();
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
/** The ORM as in production, but without its tenant filter. */
let unfiltered: MikroORM;
const worlds: World[] = [];
const stored: Stored[] = [];
const members: Member[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database, {}, embedders);
  admin = await connect(database.adminUrl);
  for (let tenant = 0; tenant < tenantCount; tenant += 1) {
    await addTenant(tenant);
  }
  const { filters: _, ...config } = ormConfig({ url: database.url, statementTimeoutMs: 5_000 });
  unfiltered = new MikroORM(config);
});
afterAll(async () => {
  await unfiltered?.close(true);
  await admin?.end();
  await gateway?.close();
  await database?.drop();
});

async function addTenant(tenant: number): Promise<void> {
  const world = await createWorld(database.unitOfWork);
  worlds.push(world);
  const second = await database.unitOfWork.inTenant(world.tenantId, (em) =>
    createSpace(em, world.owner, { name: 'Second' }),
  );
  const spaces = [world.spaceId, second.id];
  for (const [space, spaceId] of spaces.entries()) {
    for (let collection = 0; collection < collectionsOfSpace; collection += 1) {
      const text = `The beacon is painted in colour number ${tenant}${space}${collection}, called shade${tenant}${space}${collection}.`;
      stored.push(await store(world, spaceId, text));
    }
    const { apiKey } = await addMember(database.unitOfWork, { ...world, spaceId });
    members.push({ name: `member ${tenant}.${space}`, tenantId: world.tenantId, apiKey, spaces: [spaceId] });
  }
  const { tenantId, apiKey } = world;
  members.push({ name: `owner ${tenant}`, tenantId, apiKey, spaces });
}

async function store(world: World, spaceId: string, text: string): Promise<Stored> {
  const { tenantId, apiKey } = world;
  const send = async (path: string, body: object) => {
    const made = await gateway.send({ method: 'POST', path: `/v1/spaces/${spaceId}/${path}`, apiKey, body });
    return made.body.data.id as string;
  };
  const collectionId = await send('collections', { name: 'C' });
  const document = { filename: 'a.txt', media_type: 'text/plain', content: text };
  const documentId = await send(`collections/${collectionId}/documents`, document);
  await ingest({ unitOfWork: database.unitOfWork, embedders }, { tenantId, documentId });
  return { tenantId, spaceId, collectionId, documentId, text };
}

const textOf = (results: { text: string }[]): string[] => results.map(({ text }) => text);

/** The texts of passages that a caller may not see. */
function foreignIn(found: readonly string[], spaces: readonly string[]): string[] {
  const own = new Set(stored.filter(({ spaceId }) => spaces.includes(spaceId)).map(({ text }) => text));
  return found.filter((text) => !own.has(text));
}

const execute = ({ apiKey }: Member, spaceId: string, body: object) =>
  gateway.send({
    method: 'POST',
    path: `/v1/spaces/${spaceId}/tools/knowledge_search/execute`,
    apiKey,
    body: { max_results: 50, ...body },
  });
const calculate = ({ apiKey }: Member, body: object) =>
  gateway.send({ method: 'POST', path: '/v1/knowledge/calculate_context', apiKey, body });

const question = 'Which colour is the beacon painted in?';

describe('of tenants, spaces, collections and members', () => {
  it('each member finds all of its spaces, and no passage of another by any question', async () => {
    const questions = [question, ...stored.map(({ text }) => text)];
    const foreign: string[] = [];
    for (const member of members) {
      for (const query of questions) {
        const found: string[] = [];
        for (const spaceId of member.spaces) {
          const { body } = await execute(member, spaceId, { query });
          const texts = textOf(body.data.results as { text: string }[]);
          foreign.push(...foreignIn(texts, [spaceId]));
          found.push(...texts);
        }
        const merged = (await calculate(member, { question: query })).body.data;
        foreign.push(...foreignIn(textOf(merged.results as { text: string }[]), member.spaces));
        const expected = stored.filter(({ spaceId }) => member.spaces.includes(spaceId)).length;
        expect([found.length, merged.results.length], member.name).toEqual([expected, expected]);
      }
    }
    expect(foreign).toEqual([]);
  });

  it('each member is refused every other space, collection and download', async () => {
    const answers: Record<string, number> = {};
    const count = (what: string) => {
      answers[what] = (answers[what] ?? 0) + 1;
    };
    for (const member of members) {
      for (const { tenantId, spaceId, collectionId, documentId } of stored) {
        const mine = member.spaces.includes(spaceId);
        const path = `/v1/spaces/${spaceId}/collections/${collectionId}/documents/${documentId}/content`;
        const named = [
          await execute(member, spaceId, { query: question, collection_ids: [collectionId] }),
          await calculate(member, { question, collection_ids: collectionId }),
          await gateway.send({ method: 'GET', path, apiKey: member.apiKey }),
        ];
        // Named together with a space of its own.
        if (!mine) {
          named.push(
            await execute(member, member.spaces[0]!, { query: question, collection_ids: [collectionId] }),
          );
        }
        const kind = mine ? 'own' : tenantId === member.tenantId ? 'neighbour' : 'foreign';
        for (const { status } of named) {
          count(`${kind} ${status}`);
        }
      }
    }
    const all = members.length * stored.length;
    const own = tenantCount * (2 * collectionsOfSpace + spacesOfTenant * collectionsOfSpace);
    const neighbour = tenantCount * 2 * collectionsOfSpace;
    expect(answers).toEqual({
      'own 200': own * 3,
      // The space itself is known to a member of the tenant.
      'neighbour 403': neighbour * 2,
      'neighbour 404': neighbour * 2,
      'foreign 404': (all - own - neighbour) * 4,
    });
  });

  it('the tool of a response finds and cites documents of its own space only', async () => {
    const cited: [string, string][] = [];
    for (const { tenantId, spaceId } of stored) {
      for (const { text: query } of stored) {
        const reply = await runKnowledgeTool(
          {
            principalId: newId(),
            inTransaction: (work) => database.unitOfWork.inTenant(tenantId, work),
            embedders,
            signal: new AbortController().signal,
          },
          {
            spaceId,
            tool: { collection_ids: null, max_num_results: 50, alpha: 0.75 },
            arguments: JSON.stringify({ query }),
            firstLabel: 0,
          },
        );
        expect(foreignIn(textOf(reply.results!), [spaceId])).toEqual([]);
        cited.push(...citationsOf(reply.text).map((documentId): [string, string] => [spaceId, documentId]));
      }
    }
    const spaceOf = new Map(stored.map(({ documentId, spaceId }) => [documentId, spaceId]));
    expect(cited.length).toBeGreaterThanOrEqual(stored.length);
    expect(cited.filter(([spaceId, documentId]) => spaceOf.get(documentId) !== spaceId)).toEqual([]);
  });
});

/** Documents that an answer may cite after this result of a search. */
const citationsOf = (result: string): string[] =>
  [...citedFiles(result).values()].map(({ fileId }) => fileId);

/** Passages and documents of others that each path returns to a caller who is allowed everything everywhere. */
async function findForeign(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  const counted = async (name: string, look: () => Promise<number>) => {
    found[name] = (found[name] ?? 0) + (await look().catch(() => 0));
  };
  for (const world of worlds) {
    const inTenant = <T>(work: (em: EntityManager) => Promise<T>): Promise<T> =>
      unfiltered.em
        .fork({ session: { variables: { 'app.tenant_id': world.tenantId } } })
        .transactional((em) => work(em as EntityManager));
    const { principalId } = world.owner;
    for (const other of stored.filter(({ tenantId }) => tenantId !== world.tenantId)) {
      const { spaceId, collectionId, documentId, text } = other;
      const allowAll = (em: EntityManager): Context => ({
        em,
        secrets,
        enqueue: () => Promise.resolve(),
        caller: {
          ...world.owner,
          apiKeyId: null,
          keyPermissions: null,
          isPlatform: false,
          spaceId,
          isMember: true,
          granted: new Set(permissions),
        },
      });
      const signal = new AbortController().signal;
      const access: CallerAccess = {
        principalId,
        inContext: (_spaceId, work) => inTenant((em) => work(allowAll(em))),
        embedders,
        signal,
      };
      const rest = { query: text, limit: 50, alpha: 0.75 };
      const theirs = (passages: { text: string }[]) => passages.filter((each) => each.text === text).length;
      await counted('execute', async () =>
        theirs((await searchSpace(access, { spaceId, collectionIds: null, ...rest })).passages),
      );
      await counted('execute, by collection', async () =>
        theirs((await searchSpace(access, { spaceId, collectionIds: [collectionId], ...rest })).passages),
      );
      await counted('calculate_context, by collection', async () =>
        theirs((await searchSpaces(access, { collectionIds: [collectionId], ...rest })).passages),
      );
      await counted('tool', async () => {
        const tool = { collection_ids: null, max_num_results: 50, alpha: 0.75 };
        const call = { spaceId, tool, arguments: JSON.stringify({ query: text }), firstLabel: 0 };
        const reply = await runKnowledgeTool(
          { principalId, inTransaction: inTenant, embedders, signal },
          call,
        );
        return citationsOf(reply.text).filter((id) => id === documentId).length;
      });
      await counted('download', async () => {
        const { bytes } = await readContent((work) => inTenant((em) => work(allowAll(em))), {
          collectionId,
          documentId,
        });
        let length = 0;
        for await (const part of bytes) {
          length += part.length;
        }
        return length > 0 ? 1 : 0;
      });
      const collectionIds = [collectionId];
      await counted('words', async () => {
        const query = {
          question: text,
          filter: {},
          reading: null,
          limit: 50,
        };
        return (
          await inTenant((em) => matchKeywords(em, { tenantId: other.tenantId, collectionIds, ...query }))
        ).length;
      });
      await counted('vectors', async () => {
        const active = await admin.query<{ id: string }>(
          `select id from embedding_generations where space_id = $1 and state = 'active'`,
          [spaceId],
        );
        const vector = wordVector(text, 384, 'bge-small-en-v1.5');
        const query = {
          tenantId: other.tenantId,
          embeddingId: active.rows[0]!.id,
          listCount: 0,
          graph: 0,
          mean: new Float32Array(vector.length),
          vector,
          collectionIds,
        };
        const near = await inTenant((em) =>
          nearestPassages(em, { ...query, filter: {}, reading: null, passages: 1, limit: 50 }),
        );
        return near.hits.length;
      });
    }
  }
  return found;
}

describe('with every check of ours replaced by a check that allows all', () => {
  const paths = [
    'calculate_context, by collection',
    'download',
    'execute',
    'execute, by collection',
    'tool',
    'vectors',
    'words',
  ];

  it('row-level security alone keeps every passage and document of another tenant', async () => {
    const found = await findForeign();
    expect(Object.keys(found).sort()).toEqual(paths);
    expect(Object.entries(found).filter(([, count]) => count > 0)).toEqual([]);
  });

  it('and without its policies each other path would return them', async () => {
    await admin.query(`do $$ declare t regclass; begin
      for t in select c.oid from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity loop
        execute format('alter table %s disable row level security, no force row level security', t);
      end loop; end $$`);
    const found = await findForeign();
    const others = tenantCount * (tenantCount - 1) * spacesOfTenant * collectionsOfSpace;
    // Searches by words, and what reads the passages of hits, take the tenant of the transaction themselves.
    const own = ['calculate_context, by collection', 'execute', 'execute, by collection', 'tool', 'words'];
    expect(found).toEqual(Object.fromEntries(paths.map((path) => [path, own.includes(path) ? 0 : others])));
  });
});
