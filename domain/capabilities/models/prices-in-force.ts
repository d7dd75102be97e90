import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { ModelPrice } from './model-price.entity.ts';

/** The price in force of each model, by the database's clock. */
export async function pricesInForce(
  em: EntityManager,
  modelIds: readonly string[],
): Promise<Map<string, ModelPrice>> {
  const rows = await em.find(
    ModelPrice,
    { modelId: { $in: [...modelIds] }, validFrom: { $lte: raw('now()') } },
    { orderBy: { validFrom: 'asc', id: 'asc' } },
  );
  return new Map(rows.map((price) => [price.modelId, price]));
}
