import type { TokenUsage } from './model-gateway.ts';

export interface Price {
  inputMicroUsdPerMillion: bigint;
  cachedInputMicroUsdPerMillion: bigint;
  outputMicroUsdPerMillion: bigint;
}

/** Exact cost in pico-dollars: tokens x micro-dollars per million tokens. */
export function costPicoUsd(price: Price, usage: TokenUsage): bigint {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  return (
    BigInt(usage.inputTokens - cached) * price.inputMicroUsdPerMillion +
    BigInt(cached) * price.cachedInputMicroUsdPerMillion +
    BigInt(usage.outputTokens) * price.outputMicroUsdPerMillion
  );
}

/** Dollars with six fraction digits, rounded half up once, at the very end. */
export function formatUsd(picoUsd: bigint): string {
  const micro = (picoUsd + 500_000n) / 1_000_000n;
  return `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, '0')}`;
}

/** `"0.5"` to pico-dollars; at most six fraction digits. */
export function parseUsd(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return (BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))) * 1_000_000n;
}
