import { invalid } from '#domain/foundation/kernel/errors.ts';
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

/** Dollars per million tokens as decimal text, such as `"2.5"`; `cachedInput` costs like `input` when not given. */
export interface PriceUsd {
  input: string;
  cachedInput?: string | null;
  output: string;
}

/** @throws `invalid_request` for text that is no amount of at most six fraction digits. */
export function toPrice(usd: PriceUsd): Price {
  return {
    inputMicroUsdPerMillion: toMicroUsd('price.input', usd.input),
    cachedInputMicroUsdPerMillion: toMicroUsd('price.cached_input', usd.cachedInput ?? usd.input),
    outputMicroUsdPerMillion: toMicroUsd('price.output', usd.output),
  };
}

/** A price in dollars per million tokens, with six fraction digits: exact. */
export function toPriceUsd(price: Price): Required<Record<keyof PriceUsd, string>> {
  return {
    input: formatUsd(price.inputMicroUsdPerMillion * 1_000_000n),
    cachedInput: formatUsd(price.cachedInputMicroUsdPerMillion * 1_000_000n),
    output: formatUsd(price.outputMicroUsdPerMillion * 1_000_000n),
  };
}

/** Dollars for so many units to micro-dollars. @throws `invalid_request` naming `param` */
export function toMicroUsd(param: string, text: string, units = 'million tokens'): bigint {
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(text)) {
    throw invalid(param, `${param} must be dollars per ${units}, such as "2.5".`);
  }
  return parseUsd(text) / 1_000_000n;
}
