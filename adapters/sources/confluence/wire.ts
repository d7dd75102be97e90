import { z } from 'zod';

/** What is read of the answers of the interface, versions 1 and 2. */
const links = z
  .object({
    next: z.string().max(10_000).optional(),
    base: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .optional()
      .catch(undefined),
  })
  .optional();
/** Ids become parts of paths. */
const id = z.string().regex(/^[A-Za-z0-9:_-]{1,200}$/);
/** With the cursor of the next page, where there is one, and the address of the site. */
const several = <T extends z.ZodType>(member: T) =>
  z
    .object({ results: z.array(member).max(1_000), _links: links })
    .transform(({ results, _links: { next, base } = {} }) => ({
      results,
      next: cursorIn(next),
      hasMore: next !== undefined,
      base,
    }));

const pageForm = z.object({
  id,
  status: z.string(),
  title: z.string(),
  spaceId: id,
  parentId: id.nullish(),
  version: z.object({ number: z.int() }),
  _links: z.object({ webui: z.string().max(4_000).optional() }).optional(),
});
export const page = pageForm.transform(({ _links: { webui } = {}, ...rest }) => ({ ...rest, webui }));
export type Page = z.output<typeof page>;

export const pages = several(page);
export const spaces = several(z.object({ id, key: z.string() }));
export const pageWithBody = pageForm.extend({
  body: z.object({ storage: z.object({ value: z.string() }).optional() }).optional(),
});
export const ancestors = several(z.object({ id }));
export const permissions = several(
  z.object({
    principal: z.object({ type: z.string(), id }),
    operation: z.object({ key: z.string(), targetType: z.string() }),
  }),
);
export const restriction = z.object({
  restrictions: z.object({
    user: z.object({ results: z.array(z.object({ accountId: id })).max(10_000) }),
    group: z.object({ results: z.array(z.object({ id })).max(10_000) }),
  }),
});
export const users = z.object({
  results: z.array(z.object({ accountId: id, email: z.string().nullish() })).max(1_000),
});
export const groups = several(z.object({ id }));
export const members = several(z.object({ accountId: id, email: z.string().nullish() }));

/** The cursor of the address of a next page; the address itself is never followed. */
function cursorIn(next: string | undefined): string | null {
  return next === undefined
    ? null
    : (URL.parse(next, 'https://none.invalid')?.searchParams.get('cursor') ?? null);
}
