import type {
  AuthorizationFailure,
  AuthorizationFailureCode,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { rejectClient } from '#domain/capabilities/connections/choose-client.ts';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import type { UsableConnection } from '#domain/capabilities/connections/connection-source.ts';
import type { HolderIdentity } from '#domain/capabilities/connections/find-connection.ts';
import { endConnection, noteFailure } from './end-connection.ts';
import type { Lease } from './refresh-lease.ts';

/** What became of a refresh. */
export type Outcome =
  | { kind: 'current'; usable: UsableConnection }
  | { kind: 'gone' }
  | { kind: 'overtaken' }
  /** By the authorization server; a later try may succeed, when somebody has helped. */
  | { kind: 'refused' }
  | { kind: 'unavailable'; code: AuthorizationFailureCode };

/**
 * Only the refusal of the refresh token itself ends a connection for good. After any other failure the tokens stay, and
 * the next refresh waits.
 */
export async function afterFailure(
  parts: SourceParts,
  identity: HolderIdentity,
  { lease, stillValid }: { lease: Lease; stillValid: boolean },
  failure: AuthorizationFailure,
): Promise<Outcome> {
  const { tenantId } = identity;
  const { id, generation, nonce, clientId } = lease;
  const seen = { tenantId, id, generation, nonce };
  const unlessOvertaken = async (noted: Promise<boolean>, outcome: Outcome): Promise<Outcome> =>
    (await noted) ? outcome : { kind: 'overtaken' };
  const waits = () =>
    unlessOvertaken(noteFailure(parts, seen, { failure, status: null }), {
      kind: 'unavailable',
      code: failure.code,
    });
  switch (failure.code) {
    case 'grant_rejected':
      return unlessOvertaken(endConnection(parts, seen), { kind: 'gone' });
    case 'client_rejected':
      await rejectClient(parts, { tenantId, clientId });
      return unlessOvertaken(noteFailure(parts, seen, { failure, status: 'client_rejected' }), {
        kind: 'refused',
      });
    case 'unreachable':
      return waits();
    default:
      // A connector is read again by itself: one odd answer must not stop it until a person acts.
      if ('connectorId' in identity) {
        return waits();
      }
      // A person is asked when the present token can be used no longer.
      return unlessOvertaken(
        noteFailure(parts, seen, { failure, status: stillValid ? null : 'auth_expired' }),
        { kind: 'refused' },
      );
  }
}
