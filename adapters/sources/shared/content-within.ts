import type { Fetched } from '#domain/knowledge/connectors/source.ts';

type Content = Extract<Fetched, { kind: 'content' }>;

/** What `fetch` answers with a content that was read. Null: it was too long to be read. */
export function contentWithin(
  maxBytes: number,
  content: Uint8Array | null,
  about: Pick<Content, 'mediaType' | 'version'>,
): Fetched {
  return content === null || content.byteLength > maxBytes
    ? { kind: 'skipped', code: 'too_large' }
    : { kind: 'content', content, ...about };
}
