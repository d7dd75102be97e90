import { describe, expect, it } from 'vitest';
import { differenceInTurns, differenceOf, differs, timeInTurns } from '../support/paired-times.ts';

const rounds = 2_000;

/**
 * Times around 1 ms that drift by a multiple within minutes and jump now and then, as on a shared machine.
 */
function noisyTimes(ways: readonly number[]): number[][] {
  const times: number[][] = ways.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const drift = 1.5 + Math.sin(round / 300);
    for (const [way, factor] of ways.entries()) {
      const jump = Math.random() < 0.1 ? Math.random() * 20 : 0;
      times[way]!.push(factor * drift * (0.8 + Math.random() * 0.4) + jump);
    }
  }
  return times;
}

const isDetected = ([base = [], other = []]: number[][]): boolean => differs(differenceOf(base, other), 0.05);

describe('times measured in turns', () => {
  it('show a difference of a tenth on a noisy machine, in both directions, and none between equal distributions', () => {
    for (let i = 0; i < 20; i += 1) {
      expect(isDetected(noisyTimes([1, 1.1]))).toBe(true);
      expect(isDetected(noisyTimes([1, 0.9]))).toBe(true);
      expect(isDetected(noisyTimes([1, 1]))).toBe(false);
      expect(isDetected(noisyTimes([1, 1.01]))).toBe(false);
    }
  });

  it('measure each variant once a round, each first equally often', async () => {
    const order: string[] = [];
    const way = (name: string) => async () => void order.push(name);
    const times = await timeInTurns({ a: way('a'), b: way('b') }, { rounds: 400 });
    expect([times.a.length, times.b.length]).toEqual([400, 400]);
    const first = order.filter((name, at) => at % 2 === 0 && name === 'a').length;
    expect(first).toBeGreaterThan(120);
    expect(first).toBeLessThan(280);
  });

  it('are measured until the result is significant, within the time limit', async () => {
    const lasting = (ms: number) => async () => {
      for (const until = performance.now() + ms; performance.now() < until;);
    };
    const sure = { share: 0.5, atMost: 1_000, look: 50, seconds: 60 };
    const twice = await differenceInTurns({ base: lasting(0.1), other: lasting(0.2) }, sure);
    expect([twice.rounds, differs(twice, 0.5)]).toEqual([50, true]);
    const nothing = { share: 0, atMost: 150, look: 50, seconds: 60 };
    const same = await differenceInTurns({ base: lasting(0.1), other: lasting(0.1) }, nothing);
    expect(same.rounds).toBe(150);
  });
});
