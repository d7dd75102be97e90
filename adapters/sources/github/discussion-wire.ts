import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

const time = z.string().max(40);
const author = z.object({ login: z.string().max(200) }).nullish();
const pageInfo = z.object({ hasNextPage: z.boolean(), endCursor: z.string().max(1_000).nullish() });

/** A page of a list. A node is null where it is not shown. */
const connection = <T extends z.ZodType>(node: T) =>
  z.object({ pageInfo, nodes: z.array(node.nullable()).max(100).nullish() });

export interface Connection<T> {
  pageInfo: z.output<typeof pageInfo>;
  nodes?: (T | null)[] | null | undefined;
}

const reply = z.object({
  body: z.string(),
  createdAt: time,
  isAnswer: z.boolean(),
  author,
});
export type Reply = z.output<typeof reply>;
const replies = connection(reply);

const comment = reply.extend({ id: z.string().max(1_000), replies });
export type DiscussionComment = z.output<typeof comment>;

const discussion = z.object({
  number: z.int().min(1),
  title: z.string(),
  body: z.string(),
  url: z.string().max(4_000),
  closed: z.boolean(),
  isAnswered: z.boolean().nullish(),
  createdAt: time,
  updatedAt: time,
  author,
  category: z.object({ name: z.string() }).nullish(),
  labels: z
    .object({
      nodes: z
        .array(z.object({ name: z.string() }).nullable())
        .max(100)
        .nullish(),
    })
    .nullish(),
  comments: z.object({ totalCount: z.int().min(0) }),
});
export type Discussion = z.output<typeof discussion>;

const repository = <T extends z.ZodRawShape>(fields: T) =>
  z.object({ repository: z.object({ hasDiscussionsEnabled: z.boolean(), ...fields }) });

export const discussionPage = repository({ discussions: connection(discussion) });
export const oneDiscussion = repository({ discussion: discussion.nullable() });
export const commentPage = repository({
  discussion: z.object({ comments: connection(comment) }).nullable(),
});
/** Null: the comment is gone. */
export const moreReplies = z.object({ node: z.object({ replies: replies.nullish() }).nullable() });

/** The place of the next page; null: this was the last one. */
export function nextOf({ pageInfo: { hasNextPage, endCursor } }: Connection<unknown>): string | null {
  return hasNextPage ? (endCursor ?? null) : null;
}

/** What a page shows. */
export function shownIn<T>({ nodes }: Connection<T>): T[] {
  return (nodes ?? []).filter((node): node is NonNullable<typeof node> => node !== null);
}

/** @throws SourceFailure where discussions are switched off: their list is empty then, and deletes nothing */
export function enabled<T extends { hasDiscussionsEnabled: boolean }>(repository: T): T {
  if (!repository.hasDiscussionsEnabled) {
    throw new SourceFailure('scope_invalid', 'A repository of the scope has no discussions.');
  }
  return repository;
}
