import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { BytesNotFound } from '#domain/foundation/bytes/byte-store.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Document } from '#domain/knowledge/collections/document.entity.ts';

interface Content {
  document: Document;
  bytes: AsyncIterable<Uint8Array>;
}

/** Sends a document as an attachment: browsers do not render it in this origin, whatever it contains. */
export async function sendContent(reply: FastifyReply, { document, bytes }: Content): Promise<never> {
  const parts = bytes[Symbol.asyncIterator]();
  // Read before the headers are sent: content that is gone is still answered with an error status.
  const first = await parts.next().catch((error: unknown) => {
    throw error instanceof BytesNotFound ? notFound('document_not_found') : error;
  });
  async function* all() {
    try {
      for (let part = first; part.done !== true; part = await parts.next()) {
        yield part.value;
      }
    } finally {
      await parts.return?.();
    }
  }
  reply.headers({
    'Content-Type': typeOf(document),
    'Content-Length': document.byteSize,
    ETag: etagOf(document),
    'Content-Disposition': dispositionOf(document.filename),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': 'sandbox',
  });
  return reply.send(Readable.from(all(), { objectMode: false })) as never;
}

/** Of the bytes, which never change. */
export const etagOf = ({ contentHash }: Document): string => `"${contentHash}"`;

const typeOf = ({ mediaType }: Document): string =>
  mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType;

/** Whether a client that sent `If-None-Match` has these bytes already. */
export function isKnown(document: Document, ifNoneMatch: string | undefined): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etagOf(document));
}

/** RFC 6266: an ASCII name for all clients, the full name for those that support `filename*`. */
function dispositionOf(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  const whole = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}
