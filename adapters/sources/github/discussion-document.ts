import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { Discussion, Reply } from './discussion-wire.ts';
import type { GithubScope } from './scope.ts';

/** A comment or a reply, as it stands in the document. */
export interface Contribution extends Reply {
  isReply: boolean;
}

/** `updatedAt` has seconds only: two changes within one would have the same version. */
export function discussionVersion(discussion: Discussion, scope: GithubScope): string {
  const { title, body, closed, isAnswered, category, labels, comments, updatedAt } = discussion;
  const rest = [title, body, closed, isAnswered, category, labels, comments.totalCount, scope.comments];
  return `${updatedAt}/${sha256(JSON.stringify(rest)).slice(0, 16)}`;
}

/** @param content null: comments have to be read for it */
export function discussionDocument(
  repository: string,
  discussion: Discussion,
  scope: GithubScope,
  content: Buffer | null,
): ListedDocument {
  const { number, title, url } = discussion;
  return {
    ref: `${repository}/discussions/${number}`,
    name: `${repository}#${number} ${cleanText(title.slice(0, 400))}.md`,
    version: discussionVersion(discussion, scope),
    byteSize: content?.byteLength ?? null,
    mediaType: 'text/markdown',
    url: /^https?:\/\//.test(url) ? url : null,
    ...(content !== null && { content }),
  };
}

export function discussionMarkdown(discussion: Discussion, said: readonly Contribution[]): Buffer {
  const { title, number, author, createdAt, body } = discussion;
  const facts = [
    `Discussion #${number} by ${author?.login ?? 'ghost'}, ${createdAt.slice(0, 10)}, ${stateOf(discussion)}`,
    ...listed('category', [discussion.category?.name]),
    ...listed('labels', discussion.labels?.nodes?.map((label) => label?.name) ?? []),
  ];
  const parts = said.map((each) => `${headingOf(each)}\n\n${each.body}`);
  return Buffer.from(cleanText([`# ${title}`, facts.join('; '), body, ...parts].join('\n\n')));
}

function stateOf({ closed, isAnswered }: Discussion): string {
  return `${closed ? 'closed' : 'open'}${isAnswered === true ? ', answered' : ''}`;
}

function listed(title: string, names: readonly (string | undefined)[]): string[] {
  const known = names.filter((name) => name !== undefined);
  return known.length === 0 ? [] : [`${title}: ${known.join(', ')}`];
}

/** A reply is below its comment; either may be the answer. */
function headingOf({ isReply, isAnswer, author, createdAt }: Contribution): string {
  const title = isReply ? 'Reply' : 'Comment';
  const mark = isAnswer ? ', the answer' : '';
  return `${isReply ? '###' : '##'} ${title} by ${author?.login ?? 'ghost'}, ${createdAt.slice(0, 10)}${mark}`;
}
