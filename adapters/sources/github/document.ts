import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { Remark } from './remark-reader.ts';
import type { GithubScope } from './scope.ts';
import type { Issue } from './wire.ts';

/**
 * `updated_at` has seconds only: two changes within one would have the same version. What the scope leaves out changes
 * it, too, or a change of the scope would fetch nothing.
 */
export function versionOf(issue: Issue, scope: GithubScope): string {
  const { title, body, state, comments, labels, updated_at: updated } = issue;
  const rest = [title, body, state, comments, labels, ...(scope.comments ? [] : ['without comments'])];
  if (scope.reviews && issue.pull_request != null) {
    rest.push('with reviews');
  }
  return `${updated.slice(0, 40)}/${sha256(JSON.stringify(rest)).slice(0, 16)}`;
}

/** @param content null: what was said below it has to be read for it */
export function toDocument(
  repository: string,
  issue: Issue,
  scope: GithubScope,
  content: Buffer | null,
): ListedDocument {
  return {
    ref: `${repository}#${issue.number}`,
    name: `${repository}#${issue.number} ${cleanText(issue.title.slice(0, 400))}.md`,
    version: versionOf(issue, scope),
    byteSize: content?.byteLength ?? null,
    mediaType: 'text/markdown',
    url: /^https?:\/\//.test(issue.html_url) ? issue.html_url : null,
    ...(content !== null && { content }),
  };
}

export function toMarkdown(issue: Issue, remarks: readonly Remark[]): Buffer {
  const { title, number, user, state, created_at: created, body, pull_request: pull } = issue;
  const labels = issue.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? '')));
  const kind = pull == null ? 'Issue' : 'Pull request';
  const facts = `${kind} #${number} by ${user?.login ?? 'ghost'}, ${created.slice(0, 10)}, ${state}${labels.length === 0 ? '' : `; labels: ${labels.join(', ')}`}`;
  const parts = remarks.map(
    (remark) => `## ${remark.title}, ${remark.at.slice(0, 10)}${remark.note}\n\n${remark.body}`,
  );
  return Buffer.from(cleanText([`# ${title}`, facts, body ?? '', ...parts].join('\n\n')));
}
