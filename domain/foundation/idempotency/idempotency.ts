import type { Context } from '#domain/foundation/access/context.ts';
import { canonicalJson, sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { isLockTimeout } from '#domain/foundation/persistence/sql-state.ts';

/** A caller's promise that repeats of a request are the same request. Stored for 24 hours. */
export interface IdempotentRequest {
  key: string;
  /** Method and path, ids included. */
  scope: string;
  /** Digest of the body without its delivery options; `keyed` where the body may hold a secret. */
  fingerprint: string;
}

export function fingerprintOf(body: unknown): string {
  return sha256(canonicalJson(body));
}

/** Keyed, because a plain digest of a body with a secret would let readers of the table guess the secret. */
export function keyed(ctx: Context, request: IdempotentRequest): IdempotentRequest {
  return { ...request, fingerprint: ctx.secrets.mac('fingerprint', request.fingerprint).toString('hex') };
}

/**
 * Claims the key for `resourceId`, in the caller's transaction. Of concurrent requests, the others wait for the first
 * one's commit and get its resource.
 * @returns the id of the resource that the key stands for: `resourceId`, or an earlier one.
 * @throws `idempotency_key_reused` when the body differs, `idempotency_in_progress` when the first request takes too
 *   long.
 */
export async function claimKey(
  ctx: Context,
  request: IdempotentRequest,
  resourceId: string,
): Promise<string> {
  const own = [ctx.caller.tenantId, ctx.caller.principalId, request.scope, request.key];
  await ctx.em.execute(
    `delete from idempotency_keys
     where tenant_id = ? and principal_id = ? and scope = ? and key = ? and expires_at <= now()`,
    own,
  );
  const inserted = await insertOrWait(ctx, [...own, request.fingerprint, resourceId]);
  if (inserted) {
    return resourceId;
  }
  const winner = await findKey(ctx, request);
  if (winner === null) {
    throw new DomainError('idempotency_in_progress', 'The first request with this key is still in progress.');
  }
  return winner;
}

/**
 * The resource that a key stands for; null when the key is new.
 * @throws `idempotency_key_reused` when the body differs
 */
export async function findKey(ctx: Context, request: IdempotentRequest): Promise<string | null> {
  const [row] = await ctx.em.execute<{ fingerprint: string; resource_id: string }[]>(
    `select fingerprint, resource_id from idempotency_keys
     where tenant_id = ? and principal_id = ? and scope = ? and key = ? and expires_at > now()`,
    [ctx.caller.tenantId, ctx.caller.principalId, request.scope, request.key],
  );
  if (row !== undefined && row.fingerprint !== request.fingerprint) {
    throw new DomainError('idempotency_key_reused', 'This idempotency key was used with another request.', {
      param: 'Idempotency-Key',
    });
  }
  return row?.resource_id ?? null;
}

async function insertOrWait(ctx: Context, values: string[]): Promise<boolean> {
  try {
    await ctx.em.execute(`set local lock_timeout = '4500ms'`);
    const inserted = await ctx.em.execute(
      `insert into idempotency_keys (tenant_id, principal_id, scope, key, fingerprint, resource_id, expires_at)
       values (?, ?, ?, ?, ?, ?, now() + interval '24 hours') on conflict do nothing returning key`,
      values,
    );
    await ctx.em.execute(`set local lock_timeout = '2s'`);
    return inserted.length > 0;
  } catch (error) {
    if (isLockTimeout(error)) {
      throw new DomainError(
        'idempotency_in_progress',
        'The first request with this key is still in progress.',
        {
          retryAfter: 1,
        },
      );
    }
    throw error;
  }
}
