import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { JiraScope } from './scope.ts';
import type { IssueText } from './issue-text.ts';
import type { Issue } from './wire.ts';

/**
 * A comment counts as a change of its issue. The names of states and projects change without one; the scope decides
 * which comments belong to the document.
 */
export function versionOf({ key, fields }: Issue, { comments, restricted }: JiraScope): string {
  const { updated, summary, issuetype, status, labels } = fields;
  const rest = JSON.stringify([key, summary, issuetype?.name, status?.name, labels, comments, restricted]);
  return `${updated}/${sha256(rest).slice(0, 16)}`;
}

/** @param site where people open it; null: unknown */
export function toDocument(issue: Issue, scope: JiraScope, site: string | null): ListedDocument {
  const { id, key, fields } = issue;
  return {
    ref: id,
    name: `${key} ${cleanText((fields.summary ?? '').slice(0, 400))}.md`,
    version: versionOf(issue, scope),
    byteSize: null,
    mediaType: 'text/markdown',
    url: site === null ? null : `${site}/browse/${key}`,
  };
}

/** Whether everybody who sees the project may see it, or the scope names what is restricted. */
export function isShown({ fields }: Issue, { restricted }: JiraScope): boolean {
  return restricted || fields.security == null;
}

export function toMarkdown({ key, fields }: Issue, { description, comments }: IssueText): Buffer {
  const { summary, issuetype, status, labels, reporter, assignee, created } = fields;
  const facts = [
    `${issuetype?.name ?? 'Issue'} ${key} by ${reporter?.displayName ?? 'nobody'}, ${created.slice(0, 10)}, ${status?.name ?? 'no status'}`,
    ...(assignee?.displayName == null ? [] : [`assigned to ${assignee.displayName}`]),
    ...(labels == null || labels.length === 0 ? [] : [`labels: ${labels.join(', ')}`]),
  ];
  const parts = comments.map(
    ({ author, created: written, body }) =>
      `## Comment by ${author?.displayName ?? 'Former user'}, ${written.slice(0, 10)}\n\n${body}`,
  );
  const said = description === '' ? parts : [description, ...parts];
  return Buffer.from(cleanText([`# ${summary ?? ''}`, facts.join('; '), ...said].join('\n\n')));
}
