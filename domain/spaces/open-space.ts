import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { createSpace } from './create-space.ts';
import type { Space } from './space.entity.ts';

/** A space that the caller administers; it has no model yet. @throws `missing_permission` */
export async function openSpace(ctx: Context, input: { name: string }): Promise<Space> {
  authorize(ctx.caller, 'spaces.create');
  const space = await createSpace(ctx.em, ctx.caller, input);
  await ctx.em.flush();
  return ctx.em.refreshOrFail(space);
}
