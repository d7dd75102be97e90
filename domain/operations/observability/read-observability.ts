import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { ObservabilityConfig } from './observability-config.entity.ts';

/** @throws `missing_permission`, `observability_config_not_found` */
export async function readObservability(ctx: Context): Promise<ObservabilityConfig> {
  authorize(ctx.caller, 'observability.read');
  const config = await ctx.em.findOne(ObservabilityConfig, { spaceId: spaceOf(ctx.caller) });
  if (config === null) {
    throw notFound('observability_config_not_found');
  }
  return config;
}
