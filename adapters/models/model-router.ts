import type { ModelGateway, ProviderKind } from '#domain/capabilities/models/model-gateway.ts';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';

/** Routes a request to the gateway of its provider kind. */
export function modelRouter(kinds: Partial<Record<ProviderKind, ModelGateway>>): ModelGateway {
  return {
    stream(request, signal) {
      const gateway = kinds[request.model.providerKind];
      if (gateway === undefined) {
        throw new ModelFailure('model_error', { retryable: false });
      }
      return gateway.stream(request, signal);
    },
    async abandon(model, runId, signal) {
      await kinds[model.providerKind]?.abandon?.(model, runId, signal);
    },
  };
}
