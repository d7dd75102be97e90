import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { lockModel } from './find-model.ts';
import type { Model } from './model.entity.ts';

/**
 * Withdraws a model from new responses, or restores it. Running responses continue, and the row stays, because
 * responses and costs refer to it. @throws `missing_permission`, `model_not_found`
 */
export async function disableModel(
  ctx: Context,
  input: { alias: string; disabled: boolean },
): Promise<Model> {
  authorize(ctx.caller, 'models.manage');
  const model = await lockModel(ctx, input);
  if ((model.disabledAt != null) === input.disabled) {
    return model;
  }
  model.disabledAt = input.disabled ? await databaseNow(ctx.em) : null;
  await ctx.em.flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: input.disabled ? 'system.model_removed' : 'system.model_updated',
    resource: { type: 'model', id: model.id },
    ...(input.disabled ? {} : { changedFields: ['disabled'] }),
    metadata: { alias: model.alias },
  });
  return model;
}
