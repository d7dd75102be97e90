import type { EventType } from '#domain/foundation/events/catalogue.ts';
import type { AuditEvent } from '#domain/foundation/events/record-event.ts';
import type { Credential } from './credential.entity.ts';

type CredentialEvent = Extract<EventType, `security.credential_${string}`>;

/** The event data of a credential: its space and origin, nothing of its value. */
export function eventOf(
  type: CredentialEvent,
  { id, spaceId, name, kind, origin }: Credential,
  changedFields?: readonly string[],
): AuditEvent {
  return {
    type,
    resource: { type: 'credential', id },
    ...(changedFields === undefined ? {} : { changedFields }),
    metadata: { ...(spaceId == null ? {} : { space_id: spaceId }), name, kind, origin },
  };
}
