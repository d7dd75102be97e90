import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { EmbeddingModel } from './embedding-model.entity.ts';

/** An embedding model of the tenant, disabled or not. @throws `model_not_found` */
export async function findEmbeddingModel(
  ctx: Context,
  id: string,
  lockMode?: LockMode,
): Promise<EmbeddingModel> {
  const model = validate(id)
    ? await ctx.em.findOne(EmbeddingModel, { id }, lockMode === undefined ? {} : { lockMode })
    : null;
  if (model === null) {
    throw notFound('model_not_found');
  }
  return model;
}

/** @throws `missing_permission`, `model_not_found` */
export async function readEmbeddingModel(ctx: Context, id: string): Promise<EmbeddingModel> {
  authorize(ctx.caller, 'models.read');
  return findEmbeddingModel(ctx, id);
}
