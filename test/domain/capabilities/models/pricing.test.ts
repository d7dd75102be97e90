import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costPicoUsd, formatUsd, parseUsd } from '#domain/capabilities/models/pricing.ts';

const tokens = fc.nat(10_000_000);
const price = fc.bigInt(0n, 1_000_000_000n);

describe('pricing', () => {
  it('is exact: tokens times price, cached ones at their own, however large', () => {
    fc.assert(
      fc.property(tokens, tokens, tokens, price, price, price, (fresh, cached, output, input, less, more) => {
        const cost = costPicoUsd(
          {
            inputMicroUsdPerMillion: input,
            cachedInputMicroUsdPerMillion: less,
            outputMicroUsdPerMillion: more,
          },
          {
            inputTokens: fresh + cached,
            cachedInputTokens: cached,
            outputTokens: output,
            reasoningTokens: 0,
          },
        );
        expect(cost).toBe(BigInt(fresh) * input + BigInt(cached) * less + BigInt(output) * more);
      }),
    );
  });

  it('is the same for one call as for its halves: nothing is rounded before the end', () => {
    const rates = {
      inputMicroUsdPerMillion: 1n,
      cachedInputMicroUsdPerMillion: 1n,
      outputMicroUsdPerMillion: 1n,
    };
    const of = (inputTokens: number) =>
      costPicoUsd(rates, { inputTokens, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 });
    fc.assert(
      fc.property(tokens, tokens, (a, b) => {
        expect(of(a) + of(b)).toBe(of(a + b));
      }),
    );
  });

  it('rounds half up at the sixth digit', () => {
    expect(formatUsd(499_999n)).toBe('0.000000');
    expect(formatUsd(500_000n)).toBe('0.000001');
    expect(formatUsd(1_234_567_500_000n)).toBe('1.234568');
    expect(formatUsd(0n)).toBe('0.000000');
  });

  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 15n), (micro) => {
        expect(parseUsd(formatUsd(micro * 1_000_000n))).toBe(micro * 1_000_000n);
      }),
    );
    expect(parseUsd('0.5')).toBe(500_000_000_000n);
    expect(parseUsd('7')).toBe(7_000_000_000_000n);
  });
});
