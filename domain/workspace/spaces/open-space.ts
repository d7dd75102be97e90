import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createSpace } from './create-space.ts';
import { findSpace } from './find-space.ts';
import type { Space } from './space.entity.ts';

/**
 * Creates a space with the caller as administrator, without models.
 * @throws `missing_permission`, and the refusals of `claimKey`
 */
export async function openSpace(
  ctx: Context,
  input: { name: string; idempotency?: IdempotentRequest | null },
): Promise<{ space: Space; replayed: boolean }> {
  const { caller, em } = ctx;
  authorize(caller, 'spaces.create');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { space: await findSpace(em, claimed), replayed: true };
  }
  const space = await createSpace(em, caller, { id, name: input.name });
  await em.flush();
  return { space: await em.refreshOrFail(space), replayed: false };
}
