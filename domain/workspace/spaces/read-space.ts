import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { findSpace } from './find-space.ts';
import type { Space } from './space.entity.ts';

/** The caller's space. @throws `missing_permission` */
export async function readSpace(ctx: Context): Promise<Space> {
  authorize(ctx.caller, 'spaces.read');
  return findSpace(ctx.em, spaceOf(ctx.caller));
}
