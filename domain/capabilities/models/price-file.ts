import { invalid } from '#domain/foundation/kernel/errors.ts';
import type { ModelSpec } from './model-gateway.ts';
import type { Price } from './pricing.ts';

/** One model of a public price file. */
export interface PublicPrice {
  /** The seller's name in the file: `openai`, `anthropic`, `google`, `gemini` … */
  provider: string;
  model: string;
  /** The provider's address, if the file has one. */
  api: string | null;
  /**
   * null: not a price per token, finer than a millionth of a dollar per million tokens, or a million dollars and
   * more.
   */
  price: Price | null;
}

type Json = Record<string, unknown>;

/**
 * Reads the public price files of models.dev (`api.json`: dollars per million tokens, by provider) and LiteLLM
 * (`model_prices_and_context_window.json`: dollars per token, flat). @throws `invalid_request` for anything else
 */
export function readPriceFile(document: unknown): PublicPrice[] {
  const entries = isObject(document) ? Object.entries(document).filter(isNamedObject) : [];
  const found = entries.some(([, entry]) => isObject(entry.models))
    ? entries.flatMap(([provider, entry]) => ofProvider(provider, entry))
    : entries.filter(([, entry]) => typeof entry.litellm_provider === 'string').map(ofLiteLlm);
  if (found.length === 0) {
    throw invalid('document', 'This is no price file of models.dev or LiteLLM.');
  }
  return found;
}

function ofProvider(provider: string, entry: Json): PublicPrice[] {
  const models = isObject(entry.models) ? Object.entries(entry.models).filter(isNamedObject) : [];
  const api = typeof entry.api === 'string' ? entry.api : null;
  return models.map(([model, { cost }]) => ({
    provider,
    model,
    api,
    price: isObject(cost) ? toMicroUsd([cost.input, cost.cache_read, cost.output], 6) : null,
  }));
}

function ofLiteLlm([name, entry]: [string, Json]): PublicPrice {
  const provider = String(entry.litellm_provider);
  const figures = [
    entry.input_cost_per_token,
    entry.cache_read_input_token_cost,
    entry.output_cost_per_token,
  ];
  return {
    provider,
    // Some names repeat their provider: gemini/gemini-2.5-flash.
    model: name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name,
    api: null,
    price: toMicroUsd(figures, 12),
  };
}

/** The same limit as for prices set by hand: less than a million dollars per million tokens. */
const maxMicroUsd = 10n ** 12n;

/** `digits`: power of ten from micro-dollars per million tokens to the file's unit. */
function toMicroUsd([input, cached, output]: unknown[], digits: number): Price | null {
  const amounts = [input, cached ?? input, output].map((figure) => scale(figure, digits));
  const [inputMicro, cachedMicro, outputMicro] = amounts.map((amount) =>
    amount !== null && amount < maxMicroUsd ? amount : null,
  );
  return inputMicro == null || cachedMicro == null || outputMicro == null
    ? null
    : {
        inputMicroUsdPerMillion: inputMicro,
        cachedInputMicroUsdPerMillion: cachedMicro,
        outputMicroUsdPerMillion: outputMicro,
      };
}

/**
 * A figure times ten to the `digits`, exactly, or null. Works on the decimal text: JSON numbers of up to 15 digits
 * print as they were written, but multiplying their binary form would round.
 */
export function scale(figure: unknown, digits: number): bigint | null {
  const match = typeof figure === 'number' ? /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(figure)) : null;
  if (match === null) {
    return null;
  }
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const shift = digits + Number(exponent) - fraction.length;
  const value = BigInt(whole + fraction);
  if (shift >= 0) {
    return shift > 30 ? null : value * 10n ** BigInt(shift);
  }
  const unit = 10n ** BigInt(-shift);
  return value % unit === 0n ? value / unit : null;
}

const names: Partial<Record<ModelSpec['providerKind'], readonly string[]>> = {
  openai: ['openai'],
  anthropic: ['anthropic'],
  google: ['google', 'gemini'],
};

/**
 * The file's entry for a model: by provider and the vendor's name of the model; for a compatible server by its
 * address.
 */
export function findPublicPrice(
  prices: readonly PublicPrice[],
  model: Pick<ModelSpec, 'providerKind' | 'providerModel' | 'baseUrl'>,
): PublicPrice | null {
  const sellers = names[model.providerKind];
  const origin = originOf(model.baseUrl);
  return (
    prices.find(
      (entry) =>
        entry.model === model.providerModel &&
        (sellers?.includes(entry.provider) ?? (origin !== null && originOf(entry.api) === origin)),
    ) ?? null
  );
}

function originOf(url: string | null): string | null {
  return url === null ? null : (URL.parse(url)?.origin ?? null);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNamedObject(entry: [string, unknown]): entry is [string, Json] {
  return isObject(entry[1]);
}
