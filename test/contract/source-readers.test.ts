import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { presentSyncRun } from '#api/present/connectors.ts';
import { listRuns } from '#domain/knowledge/connectors/find-run.ts';
import { listSourceDocuments } from '#domain/knowledge/connectors/list-source-documents.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { openReadersWorld, type Person, type ReadersWorld } from '#test/support/sources/readers-world.ts';
import { respond, surfaces } from '#test/support/sources/reader-surfaces.ts';

let world: ReadersWorld;

beforeAll(async () => {
  world = await openReadersWorld();
  await world.sync();
});
afterAll(() => world.stop());

const all = Array.from({ length: 40 }, (_, n) => String(n));
const namedTo = async (granted: Permission[]) => {
  const { engine, space } = world;
  const page = await engine.act(
    (ctx) => listSourceDocuments(ctx, { ...space.ref, state: null, limit: 100, cursor: null }),
    { granted: new Set(granted) },
  );
  return page.items.map(({ ref }) => ref);
};
const namedByRun = async (granted: Permission[]) => {
  const { engine, space } = world;
  const { items } = await engine.act((ctx) => listRuns(ctx, { ...space.ref, limit: 1, cursor: null }), {
    granted: new Set(granted),
  });
  return items.flatMap((run) => presentSyncRun(run).metadata.errors.map(({ ref }) => ref));
};
const readableBy = ({ reads }: Person) => all.filter((ref) => reads.has(world.kindOf(ref)));
const see = async (surface: string, person: Person) => surfaces[surface]!(world, person);

describe('a collection that enforces the readers of its source', () => {
  beforeAll(() => world.enforce(true));

  for (const name of ['ada', 'ben', 'cleo', 'dora', 'bot'] as const) {
    it.each(Object.keys(surfaces))(
      `shows ${name} by %s all that may be read at the source, and nothing else`,
      async (surface) => {
        const person = world.people[name];
        const readable = readableBy(person);
        expect(readable.length).toBeGreaterThanOrEqual(10);
        expect(await see(surface, person)).toEqual(readable);
      },
    );
  }
});

describe('a collection that does not', () => {
  beforeAll(() => world.enforce(false));

  it.each(Object.keys(surfaces))('shows everything to everybody by %s', async (surface) => {
    for (const person of Object.values(world.people)) {
      expect(await see(surface, person)).toEqual(all);
    }
  });
});

describe('after the next run', () => {
  beforeAll(() => world.enforce(true));
  const isSeen = async (person: Person, ref: string) => {
    const seen = new Set<boolean>();
    for (const surface of Object.keys(surfaces)) {
      seen.add((await see(surface, person)).includes(ref));
    }
    return seen;
  };

  it('members of groups are those that the source names now', async () => {
    const { cleo, dora } = world.people;
    world.source.members.set('sales', ['ben@example.com', 'dora@sub.example.com']);
    expect(await isSeen(cleo, '2')).toEqual(new Set([true]));
    expect(await world.sync()).toMatchObject({ status: 'completed', unchanged: 40 });
    expect(await isSeen(cleo, '2')).toEqual(new Set([false]));
    expect(await isSeen(dora, '2')).toEqual(new Set([true]));
  });

  it('a text without a domain belongs to none', async () => {
    const { dora } = world.people;
    const { admin } = world.engine;
    const address = (email: string) =>
      admin.query('update principals set email = $2 where id = $1', [dora.principalId, email]);
    for (const [email, isMember] of [
      ['example.com', false],
      ['@example.com', false],
      ['dora@example.com@evil.example', false],
      ['"dora@evil.example"@example.com', true],
    ] as const) {
      await address(email);
      expect((await see('list', dora)).includes('8')).toBe(isMember);
    }
    await address('dora@sub.example.com');
  });

  it('an unchanged document has the readers that the source names now', async () => {
    const { ada, ben } = world.people;
    world.put('1', 'sales');
    await world.sync();
    expect(await isSeen(ada, '1')).toEqual(new Set([false]));
    expect(await isSeen(ben, '1')).toEqual(new Set([true]));
  });

  it('a changed document that could not be fetched has them, too', async () => {
    const { ada } = world.people;
    expect(await isSeen(ada, '9')).toEqual(new Set([true]));
    world.put('9', 'nobody');
    world.source.documents.get('9')!.version = '2';
    world.source.before = (request, ref) => {
      if (request === 'fetch' && ref === '9') {
        throw new SourceFailure('source_unreachable', 'The document does not arrive.');
      }
    };
    expect(await world.sync()).toMatchObject({ status: 'completed_with_errors', failed: 1 });
    expect(await isSeen(ada, '9')).toEqual(new Set([false]));
  });

  it('a document of which nothing is stored is named only to callers who may change connectors', async () => {
    world.source.put('40', '', { version: '1', readers: 'public' });
    await world.sync();
    expect(await namedTo(['connectors.read', 'documents.read', 'connectors.update'])).toContain('40');
    expect(await namedTo(['connectors.read', 'documents.read'])).not.toContain('40');
    expect(await namedByRun(['connectors.read', 'connectors.update'])).toContain('40');
    expect(new Set(await namedByRun(['connectors.read']))).toEqual(new Set([null]));
  });

  it('what a response has cited before stays in it', async () => {
    const { ada } = world.people;
    const before = await respond(world, ada);
    expect(before.cited).toContain('17');
    world.put('17', 'nobody');
    await world.sync();
    const { output } = await world.engine.record(before.id);
    expect(JSON.stringify(output)).toContain('shade17.');
    expect((await respond(world, ada)).cited).not.toContain('17');
  });
});
