import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Session } from './session.entity.ts';

interface ListInput {
  limit: number;
  cursor: string | null;
}

/** The caller's own sessions, ended ones included, newest first. @throws `invalid_cursor` */
export async function listOwnSessions(ctx: Context, input: ListInput): Promise<Page<Session>> {
  const { principalId } = ctx.caller;
  return keysetPage(ctx, {
    ...input,
    entity: Session,
    where: { principalId },
    operation: 'sessions.own',
    filters: { principalId },
  });
}

/** The sessions of all principals, or of one, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listSessions(
  ctx: Context,
  { principalId, ...input }: ListInput & { principalId: string | null },
): Promise<Page<Session>> {
  authorize(ctx.caller, 'sessions.read');
  return keysetPage(ctx, {
    ...input,
    entity: Session,
    where: principalId === null ? {} : { principalId },
    operation: 'sessions.list',
    filters: { principalId },
  });
}
