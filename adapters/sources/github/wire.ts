import { z } from 'zod';

const login = z.object({ login: z.string().max(200) }).nullish();
const time = z.string().max(40);

/** An issue as the list and the single address give it; a pull request is one as well. */
export const issue = z.object({
  number: z.int().min(1),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  html_url: z.string().max(4_000),
  user: login,
  labels: z
    .array(z.union([z.string(), z.object({ name: z.string().nullish() })]))
    .max(1_000)
    .default([]),
  comments: z.int().min(0).default(0),
  created_at: time,
  updated_at: time,
  pull_request: z.object({}).nullish(),
});
export type Issue = z.output<typeof issue>;

export const issues = z.array(issue).max(100);
export const comments = z
  .array(z.object({ body: z.string().nullish(), user: login, created_at: time }))
  .max(100);

export const reviews = z
  .array(
    z.object({
      body: z.string().nullish(),
      user: login,
      state: z.string(),
      submitted_at: time.nullish(),
    }),
  )
  .max(100);

/** Of lines of a pull request; `line` is null where later changes have removed it. */
export const reviewComments = z
  .array(
    z.object({
      body: z.string().nullish(),
      user: login,
      path: z.string().max(10_000),
      line: z.int().nullish(),
      original_line: z.int().nullish(),
      created_at: time,
    }),
  )
  .max(100);

const pagingFields = ['page', 'after'];

/** The paging fields of the next page that a `Link` header names; its address itself is never followed. */
export function nextIn(link: string | null): string | null {
  const [, address] = /<([^<>]{1,4000})>;\s*rel="next"/.exec(link?.slice(0, 16_000) ?? '') ?? [];
  const given = address === undefined ? null : URL.parse(address)?.searchParams;
  const fields = pagingFields.flatMap((name) => {
    const value = given?.get(name);
    return value == null ? [] : [[name, value] as [string, string]];
  });
  return fields.length === 0 ? null : new URLSearchParams(fields).toString();
}
