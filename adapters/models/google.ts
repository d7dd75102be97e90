import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { ModelGateway } from '#domain/models/model-gateway.ts';
import { vendorGateway, type VendorOptions } from './vendor-gateway.ts';

/** Gemini over the Generative Language API. */
export function google(options: VendorOptions): ModelGateway {
  return vendorGateway(
    {
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
      summarises: true,
      prompting: { systemFirst: true, reasoningWithCallsOnly: false },
      connect: ({ model }, connection) => ({
        model: createGoogleGenerativeAI(connection)(model.providerModel),
      }),
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
