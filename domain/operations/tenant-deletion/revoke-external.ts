import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import {
  openRevocable,
  revokeAll,
  type Revocable,
} from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import type { Revocation } from './deletion-status.ts';
import { lockDeletion } from './find-deletion.ts';

const pageSize = 50;
/** For the connections of one tenant in all; the rest is recorded as not reached. */
const totalMs = 300_000;

/**
 * Revokes the tokens of a tenant's connections at their authorization servers, as far as these answer, and records each
 * outcome, a page at a time: the record of a deletion is rewritten whole. Safe to repeat: a recorded connection is left
 * alone.
 */
export async function revokeExternal(
  parts: SourceParts,
  { tenantId, deletionId }: { tenantId: string; deletionId: string },
): Promise<void> {
  const until = performance.now() + totalMs;
  const silent = new Set<string>();
  const recorded = await parts.unitOfWork.inTenant(tenantId, async (em) => {
    const { revocations } = await lockDeletion(em, deletionId);
    return new Set(revocations.map(({ id }) => id));
  });
  let after: string | null = null;
  for (;;) {
    const page: Pick<Connection, 'id'>[] = await parts.unitOfWork.inTenant(tenantId, (em) =>
      em.find(Connection, after === null ? {} : { id: { $gt: after } }, {
        fields: ['id'],
        orderBy: { id: 'asc' },
        limit: pageSize,
      }),
    );
    const outcomes: Revocation[] = [];
    for (const { id } of page) {
      after = id;
      if (!recorded.has(id)) {
        const outcome =
          performance.now() > until ? 'unreachable' : await revokeOne(parts, { tenantId, id }, silent);
        outcomes.push({ kind: 'connection', id, outcome });
      }
    }
    await record(parts, { tenantId, deletionId }, outcomes);
    if (page.length < pageSize) {
      return;
    }
  }
}

async function revokeOne(
  parts: SourceParts,
  { tenantId, id }: { tenantId: string; id: string },
  silent: Set<string>,
): Promise<Revocation['outcome']> {
  const found = await open(parts, tenantId, id);
  if (found === 'unreadable') {
    return found;
  }
  if (found === null || found.grant === null || found.tokens.length === 0) {
    return 'nothing_to_revoke';
  }
  const { grant, tokens } = found;
  return silent.has(grant.target.issuer) ? 'unreachable' : revokeAll(parts, grant, { tokens, silent });
}

/** Tokens that cannot be opened can be revoked by nobody, and hold nothing up. */
async function open(
  { unitOfWork, secrets }: SourceParts,
  tenantId: string,
  id: string,
): Promise<Revocable | null | 'unreadable'> {
  try {
    return await unitOfWork.inTenant(tenantId, async (em) => {
      const connection = await em.findOne(Connection, { id });
      return connection === null ? null : openRevocable({ em, secrets }, connection);
    });
  } catch (error) {
    if (isDatabaseUnavailable(error)) {
      throw error;
    }
    return 'unreadable';
  }
}

async function record(
  { unitOfWork }: SourceParts,
  { tenantId, deletionId }: { tenantId: string; deletionId: string },
  outcomes: readonly Revocation[],
): Promise<void> {
  if (outcomes.length === 0) {
    return;
  }
  const known = new Set(outcomes.map(({ id }) => id));
  await unitOfWork.inTenant(tenantId, async (em) => {
    const deletion = await lockDeletion(em, deletionId);
    deletion.revocations = [...deletion.revocations.filter(({ id }) => !known.has(id)), ...outcomes];
  });
}
