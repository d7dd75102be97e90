import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { cacheClients } from './client-cache.ts';
import { vendorGateway, type VendorOptions } from './vendor-gateway.ts';

/** Any server with the Chat Completions API: Ollama, vLLM, LM Studio, a gateway. */
export function openAiCompatible(options: VendorOptions): ModelGateway {
  const clientOf = cacheClients(({ baseURL, apiKey, fetch }, model) =>
    createOpenAICompatible({
      name: 'vendor',
      baseURL,
      includeUsage: true,
      supportsStructuredOutputs: true,
      fetch,
      ...(apiKey === '' ? {} : { apiKey }),
    }).chatModel(model),
  );
  return vendorGateway(
    {
      baseUrl: '',
      summarises: false,
      // Models that reason between calls need that reasoning back; others refuse or ignore earlier reasoning.
      // A tool message may hold text only.
      prompting: { systemFirst: false, resultFiles: [], reasoningWithCallsOnly: true },
      connect: ({ model }, connection) => ({ model: clientOf(connection, model.providerModel) }),
      options: ({ reasoningEffort, tools, parallelToolCalls, format }) => ({
        providerOptions: {
          vendor: {
            ...(reasoningEffort === null ? {} : { reasoningEffort }),
            ...(tools.length === 0 ? {} : { parallel_tool_calls: parallelToolCalls }),
            ...(format.type === 'json_schema' ? { strictJsonSchema: format.strict ?? false } : {}),
          },
        },
      }),
    },
    options,
  );
}
