import type { EventType } from '#domain/foundation/events/catalogue.ts';
import type { AuditEvent } from '#domain/foundation/events/record-event.ts';
import type { Connector } from './connector.entity.ts';

type ConnectorEvent = Extract<
  EventType,
  `collection.connector_${string}` | `collection.sync_${string}` | 'collection.deletion_guard_triggered'
>;

/** The event data of a connector; nothing of its scope. */
export function eventOf(
  type: ConnectorEvent,
  connector: Connector,
  more: Pick<AuditEvent, 'changedFields' | 'outcome' | 'dedupeKey' | 'notify' | 'metadata'> = {},
): AuditEvent {
  return {
    ...more,
    type,
    resource: { type: 'connector', id: connector.id },
    metadata: {
      space_id: connector.spaceId,
      collection_id: connector.collectionId,
      provider_slug: connector.providerSlug,
      connector_principal_id: connector.principalId,
      ...more.metadata,
    },
  };
}
