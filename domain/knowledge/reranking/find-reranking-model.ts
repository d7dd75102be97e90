import type { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { RerankingModel } from './reranking-model.entity.ts';

/** A reranking model of the tenant, disabled or not. @throws `model_not_found` */
export async function findRerankingModel(
  ctx: Context,
  id: string,
  lockMode?: LockMode,
): Promise<RerankingModel> {
  const model = validate(id)
    ? await ctx.em.findOne(RerankingModel, { id }, lockMode === undefined ? {} : { lockMode })
    : null;
  if (model === null) {
    throw notFound('model_not_found');
  }
  return model;
}

/** @throws `missing_permission`, `model_not_found` */
export async function readRerankingModel(ctx: Context, id: string): Promise<RerankingModel> {
  authorize(ctx.caller, 'models.read');
  return findRerankingModel(ctx, id);
}
