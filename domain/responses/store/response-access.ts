import { raw } from '@mikro-orm/core';
import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Caller } from '#domain/foundation/access/caller.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { lockHead } from './head.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** A caller's own responses need no permission of their own, others' need `permission`. @throws `missing_permission` */
export function authorizeResponse(caller: Caller, permission: Permission, owner: string): void {
  authorizeOwn(caller, permission, owner, 'responses.create');
}

/** The error for a response that cannot be read any more, from the row of its id, which holds no content. */
export function goneError(ids: { expired: boolean; deleted: boolean } | null): DomainError {
  if (ids?.deleted) {
    return new DomainError('response_deleted', 'This response was deleted.');
  }
  return ids?.expired
    ? new DomainError('response_expired', 'This response has expired.')
    : notFound('response_not_found');
}

/** Excludes a response that still runs past its expiry: no caller may access it. */
export const unexpired = () => ({ expiresAt: { $gt: raw('now()') } });

/** The head of a response of the caller's space, locked. @throws not found, expired, deleted or a refusal */
export async function lockOwn(
  ctx: Context,
  responseId: string,
  permission: Permission,
): Promise<{ response: Response; now: Date }> {
  const head = await lockHead(ctx.em, responseId);
  const isInReach = head !== null && head.response.expiresAt > head.now;
  const response = await admitTo(ctx, isInReach ? head.response : null, { responseId, permission });
  return { response, now: head?.now ?? response.createdAt };
}

/** The same, to read only. */
export async function findOwn(ctx: Context, responseId: string, permission: Permission): Promise<Response> {
  const response = await ctx.em.findOne(Response, { id: responseId, ...unexpired() });
  return admitTo(ctx, response, { responseId, permission });
}

async function admitTo(
  ctx: Context,
  response: Response | null,
  wanted: { responseId: string; permission: Permission },
): Promise<Response> {
  if (response === null || response.spaceId !== ctx.caller.spaceId) {
    // By the clock of `lockOwn`, which may have waited for the row past its expiry.
    const [ids] = await ctx.em.execute<{ principal_id: string; expired: boolean; deleted: boolean }[]>(
      `select principal_id, expires_at <= clock_timestamp() as expired, deleted_at is not null as deleted
         from response_ids where id = ? and space_id = ?`,
      [wanted.responseId, ctx.caller.spaceId],
    );
    if (ids !== undefined) {
      authorizeResponse(ctx.caller, wanted.permission, ids.principal_id);
    }
    throw goneError(ids ?? null);
  }
  authorizeResponse(ctx.caller, wanted.permission, response.principalId);
  return response;
}
