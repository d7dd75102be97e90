import { z } from 'zod';

const author = z.object({ name: z.string().nullish(), username: z.string().nullish() }).nullish();

/** An issue or a merge request, as the list and the single address give it. */
export const item = z.object({
  iid: z.int().min(1),
  title: z.string(),
  description: z.string().nullish(),
  state: z.string(),
  web_url: z.string().max(4_000),
  author,
  labels: z.array(z.string()).max(1_000).default([]),
  /** Without those that the system writes. */
  user_notes_count: z.int().min(0).default(0),
  created_at: z.string(),
  updated_at: z.string(),
  confidential: z.boolean().nullish(),
});
export type Item = z.output<typeof item>;
export const items = z.array(item).max(100);

export const notes = z
  .array(
    z.object({
      body: z.string().nullish(),
      author,
      created_at: z.string(),
      system: z.boolean().nullish(),
      internal: z.boolean().nullish(),
      /** The name of `internal` before GitLab 15.5. */
      confidential: z.boolean().nullish(),
    }),
  )
  .max(100);
export type Note = z.output<typeof notes>[number];

const wikiEntry = z.object({
  slug: z.string().min(1),
  title: z.string(),
  format: z.string().default('markdown'),
});
export type WikiEntry = z.output<typeof wikiEntry>;
/** The list of wiki pages has no pages of its own; its limit is that of the bytes of a response. */
export const wikiEntries = z.array(wikiEntry);
export const wikiPage = wikiEntry.extend({ content: z.string().nullish() });
export type WikiPage = z.output<typeof wikiPage>;

export const project = z.object({ id: z.int() });
export const user = z.object({ id: z.int() });

const pagingFields = ['page', 'pagination', 'cursor', 'id_after'];

/**
 * The paging fields of the next page, from `Link`, whose address itself is never followed, or from `X-Next-Page`, where
 * a proxy has left out `Link`. Null: this was the last page.
 */
export function nextIn(headers: Headers): string | null {
  const link = headers.get('link')?.slice(0, 16_000) ?? '';
  const [, address] = /<([^<>]{1,4000})>;\s{0,10}rel="?next\b/.exec(link) ?? [];
  const given =
    address === undefined
      ? new URLSearchParams({ page: headers.get('x-next-page') ?? '' })
      : URL.parse(address, 'https://gitlab.invalid')?.searchParams;
  const fields = pagingFields.flatMap((name) => {
    const value = given?.get(name) ?? '';
    return value === '' ? [] : [[name, value] as [string, string]];
  });
  return fields.length === 0 ? null : new URLSearchParams(fields).toString();
}
