import { estimateTokenCount } from 'tokenx';
import { expect, it } from 'vitest';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { shortest } from '../../../support/growth.ts';

const prose = 'The Moon pulls at the water of the Earth, and the Earth turns below it; so there are tides. ';

it('a text of usual length is counted whole', () => {
  const text = prose.repeat(700);
  expect(text.length).toBeLessThan(65_536);
  expect(estimateTokens(text)).toBe(estimateTokenCount(text));
});

it('a long text of two halves unlike each other is estimated within two per cent', () => {
  const text = prose.repeat(20_000) + '潮汐は月の引力による。'.repeat(160_000);
  expect(Math.abs(estimateTokens(text) / estimateTokenCount(text) - 1)).toBeLessThan(0.02);
});

it('ten times a long text costs about the same', () => {
  const timed = (text: string) => shortest(() => estimateTokens(text), 5);
  const [once, tenTimes] = [prose.repeat(2_000), prose.repeat(20_000)];
  timed(once);
  expect(timed(tenTimes)).toBeLessThan(5 * timed(once) + 10);
});
