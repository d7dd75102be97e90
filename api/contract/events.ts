import { z } from 'zod';
import { eventCategories, resourceTypes } from '#domain/foundation/events/catalogue.ts';
import { data, moment, page, pageMeta, pageQuery, timestamp, uuid } from './common.ts';

/** Any id that the platform issues: a uuid, or a prefixed id such as `resp_…`. */
export const resourceId = z
  .string()
  .max(100)
  .regex(
    /^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[a-z]{2,10}_[0-9a-z]{8,80})$/,
    'must be a UUID, or an id with its prefix such as resp_0123456789abcdef',
  )
  .toLowerCase();

const momentForm = 'A time, such as 2026-11-01T00:00:00Z.';

const filters = {
  category: z.enum(eventCategories).optional(),
  resource_type: z.enum(resourceTypes).optional(),
  resource_id: resourceId.optional(),
  from_date: moment.optional().meta({ description: `Inclusive. ${momentForm}` }),
  to_date: moment.optional().meta({ description: `Inclusive. ${momentForm}` }),
};

export const listEventsQuery = z.strictObject({ ...pageQuery, ...filters });
export const eventParams = z.strictObject({ event_id: uuid });

export const eventRecord = z
  .strictObject({
    id: uuid,
    tenant_id: uuid,
    category: z.enum(eventCategories),
    event_type: z.string(),
    actor_id: uuid.nullable(),
    actor_name: z.string().nullable(),
    actor_email: z.string().nullable(),
    resource_type: z.enum(resourceTypes).nullable(),
    resource_id: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    created_at: timestamp,
  })
  .meta({ id: 'Event' });

export type EventRecord = z.infer<typeof eventRecord>;

const count = z.int().nonnegative();
export const eventEnvelope = data(eventRecord);
export const eventPage = z.strictObject({
  data: z.array(eventRecord),
  meta: pageMeta,
  counts: z
    .strictObject({ space: count, collection: count, security: count, system: count, all: count })
    .meta({ description: 'Totals by category with the other filters, whatever category is asked for.' }),
});
export const exportedEvents = page(eventRecord);

/** Inputs of the procedures. */
const inputs = {
  category: z.enum(eventCategories).nullish(),
  resource_type: z.enum(resourceTypes).nullish(),
  resource_id: resourceId.nullish(),
  from_date: moment.nullish(),
  to_date: moment.nullish(),
  cursor: z.string().min(1).max(500).nullish(),
};
export const listEventsInput = z.strictObject({ limit: z.int().min(1).max(100).default(20), ...inputs });
export const exportEventsInput = z.strictObject({
  limit: z.int().min(1).max(1_000).default(1_000),
  ...inputs,
});
export const eventInput = z.strictObject({ event_id: uuid });
