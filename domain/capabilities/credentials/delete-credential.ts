import { LockMode } from '@mikro-orm/core';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, type ErrorDetail } from '#domain/foundation/kernel/errors.ts';
import { eventOf } from './credential-event.ts';
import { findCredential } from './find-credential.ts';

type User = NonNullable<ErrorDetail['usedBy']>[number];

/** Max number of users that a refusal names. */
const maxNamed = 20;

/** The permission that the caller needs to see a user of the credential. */
const seenWith: Readonly<Record<User['type'], Permission>> = {
  mcp_server: 'mcp_servers.read',
  model: 'models.read',
  connector: 'connectors.read',
};

/**
 * Deletes a credential with its value. Waits for concurrent transactions that add a reference to it.
 * @throws `missing_permission`, `credential_not_found`, `credential_in_use` with the users that the caller may see
 */
export async function deleteCredential(ctx: Context, input: { credentialId: string }): Promise<void> {
  authorize(ctx.caller, 'credentials.manage');
  const credential = await findCredential(ctx, input.credentialId, LockMode.PESSIMISTIC_WRITE);
  const users = await usersOf(ctx, credential.id);
  if (users.length > 0) {
    const seen = users.filter(({ type }) => ctx.caller.granted.has(seenWith[type]));
    throw new DomainError('credential_in_use', 'Tool servers, models or connectors use this credential.', {
      usedBy: seen.slice(0, maxNamed),
    });
  }
  await ctx.em.remove(credential).flush();
  await recordEvent(ctx.em, ctx.caller, eventOf('security.credential_deleted', credential));
}

/** Queries the tables by name, because the features belong to later folders. */
function usersOf({ em }: Context, credentialId: string): Promise<User[]> {
  return em.execute<User[]>(
    `(select 'mcp_server' as type, id, slug as name from mcp_servers where ? in (credential_id, client_credential_id) order by slug limit ${maxNamed})
     union all
     (select 'model' as type, id, alias as name from models where credential_id = ? order by alias limit ${maxNamed})
     union all
     (select 'model' as type, id, alias as name from embedding_models where credential_id = ? order by alias limit ${maxNamed})
     union all
     (select 'model' as type, id, alias as name from reranking_models where credential_id = ? order by alias limit ${maxNamed})
     union all
     (select 'connector' as type, id, provider_slug as name from connectors where ? in (credential_id, client_credential_id) order by id limit ${maxNamed})`,
    Array.from({ length: 5 }, () => credentialId),
  );
}
