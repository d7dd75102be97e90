import { z } from 'zod';
import { shownProperties } from './property-text.ts';
import { property } from './value-wire.ts';

/** Ids become parts of paths. */
export const notionId = z.string().regex(/^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i);
const time = z
  .string()
  .max(40)
  .transform((text) => Date.parse(text))
  .refine((ms) => !Number.isNaN(ms))
  .transform((ms) => new Date(ms).toISOString());

/** Where a page, a block or a database stands. */
export const parent = z.object({
  type: z.string().default(''),
  page_id: notionId.optional(),
  block_id: notionId.optional(),
  database_id: notionId.optional(),
  data_source_id: notionId.optional(),
});
export type Parent = z.output<typeof parent>;
export const child = z.object({ parent: parent.nullish() });

/**
 * A page without the time of its last change is partial: the integration may not read its content. Of the properties
 * only their text is held, as several responses are at the same time.
 */
export const page = z.object({
  object: z.literal('page'),
  id: notionId,
  last_edited_time: time.optional(),
  in_trash: z.boolean().nullish(),
  /** The name of `in_trash` before the version 2026-03-11. */
  archived: z.boolean().nullish(),
  parent: parent.nullish(),
  properties: z.record(z.string(), property).default({}).transform(shownProperties),
  url: z.string().nullish(),
});
export type AnyPage = z.output<typeof page>;
export type Page = AnyPage & { last_edited_time: string };

/** Of any type, also of unknown ones; a partial block has none. */
export const block = z.looseObject({
  id: notionId,
  type: z.string().max(100).default(''),
  has_children: z.boolean().default(false),
  in_trash: z.boolean().nullish(),
});
export type Block = z.output<typeof block>;

const paging = z
  .object({ has_more: z.boolean(), next_cursor: z.string().max(4_000).nullish() })
  .refine(({ has_more: more, next_cursor: next }) => !more || next != null);
/** With the cursor of the next page; null: this was the last one. */
const pageOf = <T extends z.ZodType>(member: T) =>
  z.intersection(z.object({ results: z.array(member).max(100) }), paging);

export const blocks = pageOf(block).transform(({ results, has_more: more, next_cursor: next }) => ({
  results,
  next: more ? (next ?? null) : null,
}));

/** Search gives data sources beside pages where it ignores its filter. */
const found = z.looseObject({ object: z.string() });
export const searchResults = z
  .intersection(pageOf(found), z.object({ request_status: z.object({ type: z.string() }).nullish() }))
  .transform(({ results, has_more: more, next_cursor: next, request_status: status }) => ({
    results: results.filter(({ object }) => object === 'page'),
    next: more ? (next ?? null) : null,
    /** The service ends a listing at a limit of its own. */
    isCut: status?.type === 'incomplete',
  }))
  .pipe(z.object({ results: z.array(page), next: z.string().nullable(), isCut: z.boolean() }));
export type SearchResults = z.output<typeof searchResults>;

export const user = z.object({ id: notionId });

/** The refusal of a request: https://developers.notion.com/reference/status-codes */
export const refusal = z.object({ code: z.string() });
