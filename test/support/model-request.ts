import type { ModelRequest, ModelSpec } from '#domain/capabilities/models/model-gateway.ts';

/** A plain question to a model; `change` is laid over it. */
export function modelRequest(
  model: Pick<ModelSpec, 'providerKind' | 'providerModel' | 'baseUrl'> & Partial<ModelSpec>,
  change: Partial<ModelRequest> = {},
): ModelRequest {
  return {
    tenantId: 'tenant',
    model: {
      alias: model.providerModel,
      credentialRef: null,
      maxOutputTokens: 8_000,
      supportsReasoning: false,
      storesRuns: false,
      inputModalities: ['text', 'image', 'file'],
      ...model,
    },
    messages: [{ role: 'user', text: 'When?' }],
    tools: [],
    toolChoice: 'auto',
    parallelToolCalls: true,
    maxOutputTokens: 8_000,
    temperature: null,
    topP: null,
    reasoningEffort: null,
    reasoningSummary: null,
    resume: null,
    format: { type: 'text' },
    ...change,
  };
}
