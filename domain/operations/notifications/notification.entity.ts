import { defineEntity } from '@mikro-orm/core';
import type { EventCategory, EventType } from '#domain/foundation/events/catalogue.ts';

const schema = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary().defaultRaw('uuidv7()'),
    eventId: p.uuid(),
    userId: p.uuid(),
    category: p.text().$type<EventCategory>(),
    eventType: p.text().$type<EventType>(),
    resourceType: p.text().nullable(),
    resourceId: p.text().nullable(),
    title: p.text(),
    body: p.text().nullable(),
    readAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

/** One user's notification of one event. Written by the fan-out alone. */
export class Notification extends schema.class {}
schema.setClass(Notification);
