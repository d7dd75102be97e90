import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { pricesInForce } from './prices-in-force.ts';
import type { ModelPrice } from './model-price.entity.ts';
import { Model } from './model.entity.ts';

export interface ListedModel {
  model: Model;
  /** The price in force. */
  price: ModelPrice;
}

/** The tenant's models, newest first, disabled ones included. @throws `missing_permission`, `invalid_cursor` */
export async function listModels(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<ListedModel>> {
  authorize(ctx.caller, 'models.read');
  const page = await keysetPage(ctx, {
    entity: Model,
    where: {},
    ...input,
    operation: 'models',
    filters: {},
  });
  const prices = await pricesInForce(
    ctx.em,
    page.items.map(({ id }) => id),
  );
  return {
    nextCursor: page.nextCursor,
    items: page.items.flatMap((model) => {
      const price = prices.get(model.id);
      return price === undefined ? [] : [{ model, price }];
    }),
  };
}
