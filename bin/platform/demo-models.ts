import type { NewModel } from '#domain/capabilities/models/add-model.ts';
import { builtinSettings } from '#domain/capabilities/models/builtin-settings.ts';
import { toPrice } from '#domain/capabilities/models/pricing.ts';
import { providerDefaults } from '#domain/capabilities/models/provider-defaults.ts';

/** A small model of each vendor whose key is set, with its price. */
const vendors = [
  {
    variable: 'OPENAI_API_KEY',
    kind: 'openai',
    model: 'gpt-5-mini',
    price: { input: '0.25', cachedInput: '0.025', output: '2' },
  },
  {
    variable: 'ANTHROPIC_API_KEY',
    kind: 'anthropic',
    model: 'claude-haiku-4-5',
    price: { input: '1', cachedInput: '0.1', output: '5' },
  },
  {
    variable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    kind: 'google',
    model: 'gemini-2.5-flash',
    price: { input: '0.3', cachedInput: '0.075', output: '2.5' },
  },
] as const;

/** `builtin` and every model found on this machine; the last one becomes the default. */
export async function findModels(env: Record<string, string | undefined>): Promise<NewModel[]> {
  const keyed = vendors
    .filter(({ variable }) => (env[variable] ?? '') !== '')
    .map(({ variable, kind, model, price }): NewModel => ({
      alias: kind,
      providerKind: kind,
      providerModel: model,
      baseUrl: null,
      credentialRef: variable,
      ...providerDefaults(kind, model),
      price: toPrice(price),
    }));
  return [builtinSettings, ...(await findOllama(env.OLLAMA_URL)), ...keyed];
}

/** The first model of a local Ollama, which continues from a trailing assistant message. */
async function findOllama(url: string | undefined): Promise<NewModel[]> {
  if (url === undefined || url === '') {
    return [];
  }
  const answer = await fetch(`${url}/api/tags`, { signal: AbortSignal.timeout(1_000) }).catch(() => null);
  const tags = answer?.ok ? ((await answer.json()) as { models?: { name?: string }[] }) : {};
  const name = tags.models?.[0]?.name;
  return name === undefined
    ? []
    : [
        {
          alias: 'ollama',
          providerKind: 'openai_compatible',
          providerModel: name,
          baseUrl: `${url}/v1`,
          credentialRef: null,
          ...providerDefaults('openai_compatible', name),
          continuation: 'prefill',
          price: toPrice({ input: '0', output: '0' }),
        },
      ];
}
