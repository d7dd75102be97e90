import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { searchSpaces } from '#domain/knowledge/search/search-spaces.ts';
import type { CallerAccess } from '#domain/knowledge/search/search-space.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
const spaces: EmbeddingSpace[] = [];
const embedders = wordEmbedders();

const copied = 'The beacon is blue.';

beforeAll(async () => {
  world = await openWorld();
  for (let n = 0; n < 6; n += 1) {
    const space = await EmbeddingSpace.create(world, embedders, spaces[0]?.fixture.tenantId);
    await space.add(`# A\n\n${copied}\n\n# B\n\nBeacon number ${n} is old.\n`);
    spaces.push(space);
  }
});
afterAll(() => world.stop());

type Step = (space: number) => Promise<void>;

/** Runs a step within each transaction of a space, and knows how many go on. */
function watched(step: Step = async () => {}) {
  const watch = { open: 0, most: 0, after: [] as number[] };
  const access: CallerAccess = {
    principalId: spaces[0]!.fixture.principalId,
    embedders,
    signal: new AbortController().signal,
    inContext: async (spaceId, work) => {
      const index = spaces.findIndex(({ fixture }) => fixture.spaceId === spaceId);
      if (index === -1) {
        return world.act(spaces[0]!.fixture, work);
      }
      watch.open += 1;
      watch.most = Math.max(watch.most, watch.open);
      const stepped = async (ctx: Context) => {
        await step(index);
        return work(ctx);
      };
      return world.act(spaces[index]!.fixture, stepped).finally(() => {
        watch.open -= 1;
        watch.after.push(index);
      });
    },
  };
  return { watch, access };
}

const query = { collectionIds: null, query: copied, limit: 5 };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a search of several spaces', () => {
  it.each([0, 0.75])('with an alpha of %d has a copy of a text once', async (alpha) => {
    const { passages } = await searchSpaces(watched().access, { ...query, alpha });
    expect(passages.map(({ text }) => text).filter((text) => text === copied)).toHaveLength(1);
    expect(passages).toHaveLength(5);
  });

  it.each([
    { alpha: 0, most: 4 },
    { alpha: 0.75, most: 4 },
  ])('with an alpha of $alpha has $most transactions at a time', async ({ alpha, most }) => {
    const { watch, access } = watched(async () => void (await pause(40)));
    await searchSpaces(access, { ...query, alpha });
    expect(watch.most).toBe(most);
  });

  it('that fails in one is answered when no transaction goes on, and begins none after', async () => {
    const [failing, slow] = [0, 1];
    const { watch, access } = watched(async (space) => {
      if (space === failing) throw new Error('no connection');
      if (space === slow) await pause(300);
    });
    await expect(searchSpaces(access, { ...query, alpha: 0 })).rejects.toThrow('no connection');
    expect(watch.open).toBe(0);
    const ended = watch.after.length;
    await pause(400);
    expect(watch.after).toHaveLength(ended);
  });

  it.each(['space_not_found', 'missing_permission'] as const)(
    'goes on without a space that is withdrawn meanwhile: %s',
    async (code) => {
      const gone = new DomainError(code, 'Withdrawn.');
      const without = (lost: readonly number[]) =>
        watched(async (space) => {
          if (lost.includes(space)) throw gone;
        }).access;
      const answer = await searchSpaces(without([0]), { ...query, alpha: 0.75, limit: 20 });
      const texts = answer.passages.map(({ text }) => text);
      expect(texts).toContain('Beacon number 5 is old.');
      expect(texts).not.toContain('Beacon number 0 is old.');
      expect(answer.spacesLeftOut).toBe(0);
      await expect(searchSpaces(without([0, 1, 2, 3, 4, 5]), { ...query, alpha: 0 })).rejects.toBe(gone);
      const collectionIds = [spaces[0]!.collectionId];
      await expect(searchSpaces(without([0]), { ...query, collectionIds, alpha: 0 })).rejects.toMatchObject({
        code: 'collection_not_found',
      });
    },
  );

  it('says how many it has left out when time is up', async () => {
    const { access } = watched();
    expect(await searchSpaces(access, { ...query, alpha: 0 })).toMatchObject({ spacesLeftOut: 0 });
    const answer = await searchSpaces(access, { ...query, alpha: 0.75 }, 0);
    expect(answer).toMatchObject({ mode: 'hybrid', spacesLeftOut: 4 });
    expect(answer.passages).not.toEqual([]);
  });
});
