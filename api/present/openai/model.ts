import type { z } from 'zod';
import type { openAiModel } from '#api/contract/openai/response.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';

export function presentOpenAiModel(model: Model): z.infer<typeof openAiModel> {
  return {
    id: model.alias,
    object: 'model',
    created: Math.floor(model.createdAt.getTime() / 1_000),
    owned_by: model.providerKind,
  };
}
