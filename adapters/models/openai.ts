import { createOpenAI } from '@ai-sdk/openai';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { vendorAddress } from '#domain/capabilities/models/vendor-address.ts';
import { backgroundRun, cancelRun } from './openai-background.ts';
import { connectionOf, vendorGateway, type VendorOptions } from './vendor-gateway.ts';

const minTokens = 16;
const baseUrl = vendorAddress.openai;

/** OpenAI over the Responses API. Nothing is stored there, unless the model's row asks for resumable runs. */
export function openAi(options: VendorOptions): ModelGateway {
  const gateway = vendorGateway(
    {
      baseUrl,
      summarises: true,
      prompting: { systemFirst: false, resultFiles: ['image'], reasoningWithCallsOnly: false },
      connect: ({ model, resume }, connection) => {
        const run = model.storesRuns ? backgroundRun(connection.fetch, resume) : null;
        const provider = createOpenAI({ ...connection, fetch: run?.fetch ?? connection.fetch });
        return {
          model: provider.responses(model.providerModel),
          ...(run === null ? {} : { run }),
        };
      },
      options: (request) => ({
        // The rest of a limit may be below the vendor's min.
        maxOutputTokens: Math.max(request.maxOutputTokens, minTokens),
        ...(request.reasoningEffort === null ? {} : { reasoning: request.reasoningEffort }),
        providerOptions: {
          openai: {
            // What a background run stores is not referenced: a later call may go to another provider.
            store: false,
            reasoningSummary: request.reasoningSummary,
            forceReasoning: request.model.supportsReasoning,
            ...(request.model.supportsReasoning ? { include: ['reasoning.encrypted_content'] } : {}),
            ...(request.tools.length === 0 ? {} : { parallelToolCalls: request.parallelToolCalls }),
            ...(request.format.type === 'json_schema'
              ? { strictJsonSchema: request.format.strict ?? false }
              : {}),
          },
        },
      }),
    },
    options,
  );
  return {
    ...gateway,
    abandon: async (model, runId, signal) =>
      cancelRun(await connectionOf({ model }, { baseUrl }, options), runId, signal),
  };
}
