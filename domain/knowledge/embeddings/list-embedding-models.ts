import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { EmbeddingModel } from './embedding-model.entity.ts';

/** The tenant's embedding models, newest first, disabled ones included. @throws `missing_permission`, `invalid_cursor` */
export async function listEmbeddingModels(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<EmbeddingModel>> {
  authorize(ctx.caller, 'models.read');
  return keysetPage(ctx, {
    entity: EmbeddingModel,
    where: {},
    ...input,
    operation: 'embedding_models',
    filters: {},
  });
}
