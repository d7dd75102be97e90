import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { findKey } from '#domain/foundation/idempotency/idempotency.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { authorizeResponse, unexpired } from '#domain/responses/store/response-access.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/**
 * The response of a repeated request: the response that its cursor names, if it was created by the same body, else
 * that of its idempotency key. null: none.
 */
export async function findRequest(
  ctx: Context,
  input: CreateResponseInput,
  responseId: string | null,
): Promise<string | null> {
  authorize(ctx.caller, 'responses.create');
  if (responseId === null) {
    return input.idempotency === null ? null : findKey(ctx, input.idempotency);
  }
  const response = await ctx.em.findOne(Response, {
    id: responseId,
    spaceId: input.spaceId,
    ...unexpired(),
  });
  if (response === null || response.fingerprint !== input.fingerprint) {
    return null;
  }
  authorizeResponse(ctx.caller, 'responses.read', response.principalId);
  return response.id;
}
