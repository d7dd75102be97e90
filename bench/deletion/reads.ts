import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '#test/support/world.ts';

const pauseMs = 5;

/** One read after the other by other tenants, in milliseconds each, until `isOver`. */
export async function measureReads(
  gatewayUrl: string,
  tenants: readonly World[],
  isOver: () => boolean,
): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n === 0 || !isOver(); n += 1) {
    const { spaceId, apiKey } = tenants[n % tenants.length]!;
    const begun = performance.now();
    const answer = await fetch(`${gatewayUrl}/api/v1/spaces/${spaceId}/collections?limit=20`, {
      headers: { 'X-API-Key': apiKey },
    });
    await answer.text();
    if (!answer.ok) throw new Error(`A read was answered with ${answer.status}.`);
    times.push(performance.now() - begun);
    await sleep(pauseMs);
  }
  return times;
}
