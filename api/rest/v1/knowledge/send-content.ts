import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { BytesNotFound } from '#domain/foundation/bytes/byte-store.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Document } from '#domain/knowledge/collections/document.entity.ts';

interface Content {
  document: Document;
  bytes: AsyncIterable<Uint8Array>;
}

/** Sends a document as a file to be saved: no browser shows it in this origin, whatever it holds. */
export async function sendContent(reply: FastifyReply, { document, bytes }: Content): Promise<never> {
  const parts = bytes[Symbol.asyncIterator]();
  // Read before the headers go: what is gone by now is still answered as such.
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
    'Content-Type': `${document.mediaType}; charset=utf-8`,
    'Content-Length': document.byteSize,
    'Content-Disposition': dispositionOf(document.filename),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': 'sandbox',
  });
  return reply.send(Readable.from(all(), { objectMode: false })) as never;
}

/** As RFC 6266 has it: a name in ASCII for all, the whole name for those who know `filename*`. */
function dispositionOf(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  const whole = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`;
}
