import type { FastifyReply, FastifyRequest } from 'fastify';
import type { UploadPlaces } from '#api/limits/upload-places.ts';
import { presentDocument } from '#api/present/knowledge.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { ContentLimits } from '#domain/knowledge/collections/collection-limits.ts';
import { uploadContent, type FileDescription } from '#domain/knowledge/collections/upload-content.ts';
import { markCreated } from '../created.ts';

export interface UploadedFile {
  source: AsyncIterable<Uint8Array>;
  describe: () => Promise<FileDescription>;
}

interface Upload {
  ref: { spaceId: string; collectionId: string };
  /** Of the operation, with its ids. */
  path: string;
  key: string | undefined;
  limits: ContentLimits;
  /** Bytes of the body beside the file. */
  overhead: number;
  open: (maxBytes: number) => Promise<UploadedFile>;
}

/** Receives a file in one of the tenant's places. @throws `rate_limited`, `payload_too_large`, and so on */
export async function receiveFile(
  request: FastifyRequest,
  reply: FastifyReply,
  options: { places: UploadPlaces; upload: Upload },
) {
  const { ref, path, key, limits, overhead, open } = options.upload;
  const maxBytes = Math.max(...Object.values(limits));
  const { document, replayed } = await options.places.run(request.identity, async () => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes + overhead) {
      throw new DomainError('payload_too_large', `The file must have at most ${maxBytes} bytes.`);
    }
    const { source, describe } = await open(maxBytes);
    return uploadContent((work) => request.inContext(ref.spaceId, work), {
      collectionId: ref.collectionId,
      source,
      describe,
      limits,
      idempotency: key === undefined ? null : { key, scope: `POST ${path}` },
    });
  });
  markCreated(reply, replayed);
  return { data: presentDocument(document) };
}
