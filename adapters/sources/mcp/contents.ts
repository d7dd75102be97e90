import { z } from 'zod';
import type { Fetched } from '#domain/knowledge/connectors/source.ts';
import { contentWithin } from '../shared/content-within.ts';

const contents = z.object({
  contents: z
    .array(
      z.union([
        z.object({ text: z.string(), mimeType: z.string().optional() }),
        z.object({ blob: z.string(), mimeType: z.string().optional() }),
      ]),
    )
    .max(10_000),
});

/** Base64 needs four bytes for three, and a text in JSON up to six for one. */
export function answerBytes(maxBytes: number): number {
  return 6 * maxBytes + 65_536;
}

/** The texts of a resource as one document, or its first blob. */
export function toFetched(result: unknown, maxBytes: number): Fetched | null {
  const parsed = contents.safeParse(result);
  if (!parsed.success) {
    return null;
  }
  const [first] = parsed.data.contents;
  if (first === undefined) {
    return { kind: 'skipped', code: 'not_a_document' };
  }
  const content =
    'blob' in first
      ? Buffer.from(first.blob, 'base64')
      : Buffer.from(parsed.data.contents.flatMap((each) => ('text' in each ? [each.text] : [])).join('\n\n'));
  const mediaType = first.mimeType?.slice(0, 200) ?? null;
  return contentWithin(maxBytes, content, { mediaType, version: null });
}
