import type { z } from 'zod';
import type { addEmbeddingModelBody, updateEmbeddingModelBody } from '#api/contract/embeddings.ts';
import type { RegisterEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import type { UpdateEmbeddingModel } from '#domain/knowledge/embeddings/update-embedding-model.ts';

/** From the wire's names to those of the use case; omitted members stay omitted. */
export function toNewEmbeddingModel(body: z.output<typeof addEmbeddingModelBody>): RegisterEmbeddingModel {
  return {
    alias: body.alias,
    providerKind: body.provider_kind,
    providerModel: body.provider_model,
    ...toChanges(body),
    ...(body.dims === undefined ? {} : { dims: body.dims }),
    ...(body.query_prefix === undefined ? {} : { queryPrefix: body.query_prefix }),
    ...(body.passage_prefix === undefined ? {} : { passagePrefix: body.passage_prefix }),
  };
}

/** The members that may change later. */
export function toChanges(body: z.output<typeof updateEmbeddingModelBody>): Omit<UpdateEmbeddingModel, 'id'> {
  return {
    ...(body.base_url === undefined ? {} : { baseUrl: body.base_url }),
    ...(body.credential_id === undefined ? {} : { credentialId: body.credential_id }),
    ...(body.max_tokens === undefined ? {} : { maxTokens: body.max_tokens }),
    ...(body.price === undefined ? {} : { price: body.price }),
    ...(body.disabled === undefined ? {} : { disabled: body.disabled }),
  };
}
