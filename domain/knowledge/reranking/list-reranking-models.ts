import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { RerankingModel } from './reranking-model.entity.ts';

/** The tenant's reranking models, newest first, disabled ones included. @throws `missing_permission`, `invalid_cursor` */
export async function listRerankingModels(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<RerankingModel>> {
  authorize(ctx.caller, 'models.read');
  return keysetPage(ctx, {
    entity: RerankingModel,
    where: {},
    ...input,
    operation: 'reranking_models',
    filters: {},
  });
}
