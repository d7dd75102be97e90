import { z } from 'zod';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { SourceFailure, type ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { filterInTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { parseState } from '../shared/stored-text.ts';

export const pageSize = 100;
const maxUriBytes = 2_000;

const resource = z.object({
  uri: z.string(),
  name: z.string(),
  title: z.string().optional(),
  mimeType: z.string().optional(),
  size: z.number().optional(),
  annotations: z.object({ lastModified: z.string().optional() }).optional(),
});
const answer = z.object({ resources: z.array(resource), nextCursor: z.string().max(4_000).optional() });

/** One answer of `resources/list`; a server may list everything in one. */
export interface ListedPage {
  documents: ListedDocument[];
  next: string | null;
}

/** @throws SourceFailure for an answer that is no list of resources */
export async function toPage(result: unknown, fits: (uri: string) => boolean): Promise<ListedPage> {
  const parsed = answer.safeParse(result);
  if (!parsed.success) {
    throw new SourceFailure('source_invalid', 'The tool server does not answer with a list of resources.');
  }
  const { resources, nextCursor } = parsed.data;
  const listable = await filterInTurns(
    resources,
    ({ uri }) => uri.isWellFormed() && Buffer.byteLength(uri) <= maxUriBytes && fits(uri),
  );
  return { documents: listable.map(toDocument), next: nextCursor ?? null };
}

function toDocument({
  uri,
  name,
  title,
  mimeType,
  size,
  annotations,
}: z.output<typeof resource>): ListedDocument {
  const modified = annotations?.lastModified;
  const byteSize = Number.isSafeInteger(size) && Number(size) >= 0 ? Number(size) : null;
  return {
    ref: uri,
    name: cleanText((title === undefined || title === '' ? name : title).slice(0, 500)),
    version: modified === undefined ? null : cleanText(`${modified}/${byteSize ?? ''}`.slice(0, 200)),
    byteSize,
    mediaType: mimeType?.slice(0, 200) ?? null,
    url: /^https?:\/\//i.test(uri) ? uri : null,
  };
}

/** Where a page begins: the server's own cursor, the place in its answer, and how much was listed before. */
const place = z.tuple([z.string().nullable(), z.int().min(0), z.int().min(0), z.int().min(0)]);

export interface Place {
  cursor: string | null;
  offset: number;
  listed: number;
  answers: number;
}

export function toCursor({ cursor, offset, listed, answers }: Place): string {
  return JSON.stringify([cursor, offset, listed, answers]);
}

/** @throws SourceFailure for a cursor of another version */
export function fromCursor(text: string | null): Place {
  if (text === null) {
    return { cursor: null, offset: 0, listed: 0, answers: 0 };
  }
  const [cursor, offset, listed, answers] = parseState(place, text);
  return { cursor, offset, listed, answers };
}
