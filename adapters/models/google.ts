import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { vendorAddress } from '#domain/capabilities/models/vendor-address.ts';
import { cacheClients } from './client-cache.ts';
import { vendorGateway, type VendorOptions } from './vendor-gateway.ts';

/** Gemini over the Generative Language API. */
export function google(options: VendorOptions): ModelGateway {
  const clientOf = cacheClients((connection, model) => createGoogleGenerativeAI(connection)(model));
  return vendorGateway(
    {
      baseUrl: vendorAddress.google,
      summarises: true,
      prompting: { systemFirst: true, resultFiles: ['image', 'audio'], reasoningWithCallsOnly: false },
      connect: ({ model }, connection) => ({ model: clientOf(connection, model.providerModel) }),
      options: ({ reasoningEffort, reasoningSummary }) => ({
        ...(reasoningEffort === null ? {} : { reasoning: reasoningEffort }),
        providerOptions: {
          google: reasoningSummary === null ? {} : { thinkingConfig: { includeThoughts: true } },
        },
      }),
    },
    options,
  );
}
