import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import type { GitlabScope } from './scope.ts';
import type { Item, Note, WikiEntry, WikiPage } from './wire.ts';

export type ItemKind = 'issues' | 'merge_requests';

const forms = {
  issues: { title: 'Issue', mark: '#' },
  merge_requests: { title: 'Merge request', mark: '!' },
} as const;

/** A removed note changes its count only; the scope decides which notes belong to the document. */
export function versionOf(item: Item, { notes, confidential }: GitlabScope): string {
  const { title, description, state, labels, user_notes_count: count, updated_at: updated } = item;
  const rest = JSON.stringify([title, description, state, labels, count, notes, confidential]);
  return `${updated.slice(0, 40)}/${sha256(rest).slice(0, 16)}`;
}

/** @param content null: notes have to be read for it */
export function itemDocument(
  kind: ItemKind,
  item: Item,
  scope: GitlabScope,
  content: Buffer | null,
): ListedDocument {
  const { mark } = forms[kind];
  return {
    ref: `${kind}/${item.iid}`,
    name: `${scope.project}${mark}${item.iid} ${cleanText(item.title.slice(0, 400))}.md`,
    version: versionOf(item, scope),
    byteSize: content?.byteLength ?? null,
    mediaType: 'text/markdown',
    url: /^https?:\/\//.test(item.web_url) ? item.web_url : null,
    ...(content !== null && { content }),
  };
}

export function itemMarkdown(kind: ItemKind, item: Item, notes: readonly Note[]): Buffer {
  const { title, iid, state, labels, created_at: created, description } = item;
  const form = forms[kind];
  const labelled = labels.length === 0 ? '' : `; labels: ${labels.join(', ')}`;
  const facts = `${form.title} ${form.mark}${iid} by ${nameOf(item)}, ${created.slice(0, 10)}, ${state}${labelled}`;
  const parts = notes.map(
    (note) => `## Note by ${nameOf(note)}, ${note.created_at.slice(0, 10)}\n\n${note.body ?? ''}`,
  );
  return Buffer.from(cleanText([`# ${title}`, facts, description ?? '', ...parts].join('\n\n')));
}

export function wikiDocument({ slug, format }: WikiEntry, scope: GitlabScope): ListedDocument {
  const { base_url: base, project } = scope;
  const path = slug.split('/').map(encodeURIComponent).join('/');
  return {
    ref: `wiki_pages/${slug}`,
    name: `${project}/wiki/${cleanText(slug)}.${format === 'markdown' ? 'md' : 'txt'}`,
    // Nothing in the list changes with the content.
    version: null,
    byteSize: null,
    mediaType: wikiMediaType(format),
    // The address of a project has its path, which its number does not tell.
    url: project.includes('/') ? `${withoutSlashes(base)}/${project}/-/wikis/${path}` : null,
  };
}

export function wikiText({ title, format, content }: WikiPage): Buffer {
  return Buffer.from(cleanText(`${format === 'markdown' ? '# ' : ''}${title}\n\n${content ?? ''}`));
}

/** The other formats (AsciiDoc, RDoc, Org) are read as the text that they are. */
export function wikiMediaType(format: string): string {
  return format === 'markdown' ? 'text/markdown' : 'text/plain';
}

function nameOf({ author }: Pick<Item, 'author'>): string {
  return author?.name || author?.username || 'Ghost User';
}
