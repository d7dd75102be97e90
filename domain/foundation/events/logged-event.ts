import type { EventType, ResourceType } from './catalogue.ts';

/** The facts of a change that its event records. */
export interface EventFacts {
  type: EventType;
  resource: { type: ResourceType; id: string };
  metadata: Readonly<Record<string, unknown>>;
}

/** An event as the log stores it. */
export interface LoggedEvent extends EventFacts {
  tenantId: string;
  id: string;
  actorId: string | null;
  createdAt: Date;
}

/** The space that an event concerns, if any. */
export function spaceOfEvent({ resource, metadata }: EventFacts): string | null {
  const named = metadata['space_id'];
  return resource.type === 'space' ? resource.id : typeof named === 'string' ? named : null;
}
