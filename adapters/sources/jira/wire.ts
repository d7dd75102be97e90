import { z } from 'zod';

/** What is read of the responses of the REST interface, version 3. Bodies of rich text stay as they are. */
const idForm = /^[1-9]\d{0,14}$/;
const id = z.string().regex(idForm);
const short = z.string().max(1_000);
const named = z.object({ name: short.nullish() }).nullish();
const person = z.object({ displayName: short.nullish() }).nullish();
/** With an offset without a colon, in the zone of the account: `2025-01-21T09:15:00.000+0100`. */
const time = z
  .string()
  .max(40)
  .transform((given) => Date.parse(given.replace(/([+-]\d\d)(\d\d)$/, '$1:$2')))
  .refine((ms) => Number.isFinite(ms))
  .transform((ms) => new Date(ms).toISOString());

/** References come from the database and become parts of addresses and queries. */
export function isIssueId(ref: string): boolean {
  return idForm.test(ref);
}

export const listedFields = [
  'summary',
  'issuetype',
  'project',
  'status',
  'labels',
  'reporter',
  'assignee',
  'security',
  'created',
  'updated',
];
const listed = z.object({
  summary: short.nullish(),
  issuetype: named,
  project: z.object({ key: short }),
  status: named,
  labels: z.array(short).max(1_000).nullish(),
  reporter: person,
  assignee: person,
  /** Its level; absent or null: everybody who sees the project may see it. */
  security: z.object({}).nullish(),
  created: time,
  updated: time,
});

const form = z.object({
  id,
  key: z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,254}-\d{1,15}$/),
  fields: listed,
});
export type Issue = z.output<typeof form>;

export const found = z
  .object({
    issues: z.array(form).max(1_000).default([]),
    nextPageToken: z.string().max(20_000).nullish(),
    isLast: z.boolean().nullish(),
  })
  .transform(({ issues, nextPageToken: token, isLast }) => ({
    issues,
    next: token == null || token === '' || isLast === true ? null : token,
  }));

/** Of a search for ids alone. */
export const foundIds = z.object({ issues: z.array(z.object({ id })).max(1_000).default([]) });

const comment = z.object({
  author: person,
  body: z.unknown().optional(),
  created: time,
  /** The role or group that may see it; absent: everybody who sees the issue may. */
  visibility: z.object({}).nullish(),
  /** False: an internal comment of a service project. */
  jsdPublic: z.boolean().nullish(),
});
export type Comment = z.output<typeof comment>;

export const comments = z.object({ comments: z.array(comment).max(5_000), total: z.int().min(0) });
export type Comments = z.output<typeof comments>;

/** With its description and, where they were asked for, with its comments, of which some may be missing. */
export const issue = form.extend({
  fields: listed.extend({ description: z.unknown().optional(), comment: comments.nullish().catch(null) }),
});
export type WholeIssue = z.output<typeof issue>;

export const bulk = z.object({ issues: z.array(issue).max(1_000).default([]) });

export const account = z.object({ accountId: short, timeZone: z.string().max(100).nullish() });
export const projects = z.object({ values: z.array(z.object({ key: short })).max(1_000) });
export const server = z.object({ baseUrl: short });
