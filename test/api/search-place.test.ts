import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SearchPlace } from '#api/limits/search-place.ts';
import { FairSemaphore } from '#domain/foundation/kernel/fair-semaphore.ts';

/** The place of a semaphore with a single slot. */
async function onlyPlace() {
  const places = new FairSemaphore({ slots: 1, slotsPerKey: 1, waitersPerKey: 1, waitMs: 200 });
  const take = () => places.acquire('tenant', undefined);
  return { take, place: new SearchPlace(take, await take()) };
}

function call() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { run: () => promise, end: () => resolve('embedded') };
}

describe('the place of a search', () => {
  it('is free while models are asked, and taken for the next step, once all of them have answered', async () => {
    const { take, place } = await onlyPlace();
    const [one, two] = [call(), call()];
    const asked = [place.outside(one.run), place.outside(two.run)];
    const stepped: string[] = [];
    const step = place.inside(async () => void stepped.push('step'));
    const release = await take();
    one.end();
    two.end();
    expect(await Promise.all(asked)).toEqual(['embedded', 'embedded']);
    await turn();
    expect(stepped).toEqual([]);
    release();
    await step;
    expect(stepped).toEqual(['step']);
    await expect(take()).rejects.toThrow('no turn in time');
    place.leave();
    (await take())();
  });

  it('fails the next step when it is not free again in time, also where another model is asked', async () => {
    const { take, place } = await onlyPlace();
    const one = call();
    const asked = place.outside(one.run);
    const release = await take();
    one.end();
    await asked;
    await expect(place.inside(async () => 'step')).rejects.toThrow('no turn in time');
    await expect(place.outside(async () => 'embedded')).rejects.toThrow('no turn in time');
    release();
    place.leave();
    (await take())();
  });

  it('is given back by a search that ends while it is taken again, and a late call takes none', async () => {
    const { take, place } = await onlyPlace();
    const one = call();
    const asked = place.outside(one.run);
    const release = await take();
    one.end();
    await asked;
    place.leave();
    release();
    await turn();
    (await take())();
    expect(await place.outside(async () => 'embedded')).toBe('embedded');
    await turn();
    (await take())();
  });
});
