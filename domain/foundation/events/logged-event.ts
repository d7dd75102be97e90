import type { EventType, ResourceType } from './catalogue.ts';

/** What an event says of the change. */
export interface EventFacts {
  type: EventType;
  resource: { type: ResourceType; id: string };
  metadata: Readonly<Record<string, unknown>>;
}

/** An event as the log has it. */
export interface LoggedEvent extends EventFacts {
  tenantId: string;
  id: string;
  actorId: string | null;
  createdAt: Date;
}

/** The space that an event is about, if any. */
export function spaceOfEvent({ resource, metadata }: EventFacts): string | null {
  const named = metadata['space_id'];
  return resource.type === 'space' ? resource.id : typeof named === 'string' ? named : null;
}
