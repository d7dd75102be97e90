import type { EventRecord } from '#api/contract/events.ts';
import type { EventView } from '#domain/foundation/events/event-view.ts';
import type { EventFilters } from '#domain/foundation/events/list-events.ts';

export function presentEvent(event: EventView): EventRecord {
  return {
    id: event.id,
    tenant_id: event.tenantId,
    category: event.category,
    event_type: event.eventType,
    actor_id: event.actorId,
    actor_name: event.actorName,
    actor_email: event.actorEmail,
    resource_type: event.resourceType,
    resource_id: event.resourceId,
    metadata: event.metadata,
    created_at: event.createdAt.toISOString(),
  };
}

/** The filters of a query or a procedure's input. */
export function toFilters(given: {
  category?: EventFilters['category'] | undefined;
  resource_type?: EventFilters['resourceType'] | undefined;
  resource_id?: string | null | undefined;
  from_date?: string | null | undefined;
  to_date?: string | null | undefined;
}): EventFilters {
  return {
    category: given.category ?? null,
    resourceType: given.resource_type ?? null,
    resourceId: given.resource_id ?? null,
    fromDate: given.from_date ?? null,
    toDate: given.to_date ?? null,
  };
}
