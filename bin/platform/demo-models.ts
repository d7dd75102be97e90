import type { NewModel } from '#domain/models/add-model.ts';
import { builtinSettings } from '#domain/models/builtin-settings.ts';

/** Vendors whose Chat Completions endpoint takes the key that was found. */
const vendors = [
  {
    variable: 'OPENAI_API_KEY',
    alias: 'openai',
    model: 'gpt-5-mini',
    baseUrl: 'https://api.openai.com/v1',
    price: {
      inputMicroUsdPerMillion: 250_000n,
      cachedInputMicroUsdPerMillion: 25_000n,
      outputMicroUsdPerMillion: 2_000_000n,
    },
  },
  {
    variable: 'ANTHROPIC_API_KEY',
    alias: 'anthropic',
    model: 'claude-haiku-4-5',
    baseUrl: 'https://api.anthropic.com/v1',
    price: {
      inputMicroUsdPerMillion: 1_000_000n,
      cachedInputMicroUsdPerMillion: 100_000n,
      outputMicroUsdPerMillion: 5_000_000n,
    },
  },
  {
    variable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    alias: 'google',
    model: 'gemini-2.5-flash',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    price: {
      inputMicroUsdPerMillion: 300_000n,
      cachedInputMicroUsdPerMillion: 75_000n,
      outputMicroUsdPerMillion: 2_500_000n,
    },
  },
] as const;

/** `builtin` and whatever else this machine has; the last one becomes the default. */
export async function findModels(env: Record<string, string | undefined>): Promise<NewModel[]> {
  const keyed = vendors
    .filter(({ variable }) => (env[variable] ?? '') !== '')
    .map(({ variable, alias, model, baseUrl, price }) =>
      compatible({ alias, providerModel: model, baseUrl, credentialRef: variable, price }),
    );
  return [builtinSettings, ...(await findOllama(env.OLLAMA_URL)), ...keyed];
}

function compatible(
  settings: Pick<NewModel, 'alias' | 'providerModel' | 'baseUrl' | 'credentialRef' | 'price'>,
  continuation: NewModel['continuation'] = 'instruct',
): NewModel {
  return {
    ...settings,
    providerKind: 'openai_compatible',
    continuation,
    supportsReasoning: false,
    contextWindow: 128_000,
    maxOutputTokens: 8_192,
  };
}

/** The first model of a local Ollama, which goes on from a trailing assistant message. */
async function findOllama(url: string | undefined): Promise<NewModel[]> {
  if (url === undefined || url === '') {
    return [];
  }
  const answer = await fetch(`${url}/api/tags`, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  const tags = answer?.ok ? ((await answer.json()) as { models?: { name?: string }[] }) : {};
  const name = tags.models?.[0]?.name;
  const free = {
    inputMicroUsdPerMillion: 0n,
    cachedInputMicroUsdPerMillion: 0n,
    outputMicroUsdPerMillion: 0n,
  };
  return name === undefined
    ? []
    : [
        compatible(
          { alias: 'ollama', providerModel: name, baseUrl: `${url}/v1`, credentialRef: null, price: free },
          'prefill',
        ),
      ];
}
