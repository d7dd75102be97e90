import { TooManyBytes, type ReceivedBytes } from '#domain/foundation/bytes/byte-store.ts';
import { PostgresByteStore } from '#domain/foundation/bytes/postgres-byte-store.ts';
import { LastBytes } from '#domain/foundation/bytes/last-bytes.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { fingerprintOf, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { addDocument, rejectTooManyPending, type AddedDocument } from './add-document.ts';
import type { ContentLimits } from './collection-limits.ts';
import { findCollection } from './find-collection.ts';
import { sniffedBytes, sniffedTailBytes } from './media-type.ts';
import { declaredType, readableType, rejectUnreadable } from './readable-type.ts';

/** Runs one step with the caller's current permissions, in a transaction of its own. */
type InContext = <T>(work: (ctx: Context) => Promise<T>) => Promise<T>;

/** What the caller says about a file. */
export interface FileDescription {
  filename: string;
  /** A content type; only a hint. */
  declared: string | undefined;
  metadata: Record<string, string>;
}

export interface UploadContent {
  collectionId: string;
  source: AsyncIterable<Uint8Array>;
  /** Asked after the source has ended: fields of a form may follow its file. */
  describe: () => Promise<FileDescription>;
  /** Max bytes of a document of each type. */
  limits: ContentLimits;
  idempotency: Omit<IdempotentRequest, 'fingerprint'> | null;
}

/**
 * Adds a document whose content arrives as a stream: stored part by part in short transactions, then added in one. The
 * bytes stay as they are. When that fails, nothing of them stays stored.
 * @throws `payload_too_large`, `unsupported_document_type`, errors of the source, and the refusals of `addDocument`.
 */
export async function uploadContent(inContext: InContext, input: UploadContent): Promise<AddedDocument> {
  const { collectionId, limits } = input;
  const tenantId = await inContext(async (ctx) => {
    authorize(ctx.caller, 'documents.write');
    await findCollection(ctx, collectionId);
    // A repeat of a finished upload adds nothing, and its key is looked up once its bytes are known.
    if (input.idempotency === null) {
      await rejectTooManyPending(ctx);
    }
    return ctx.caller.tenantId;
  });
  const store = PostgresByteStore.inSteps(tenantId, (step) =>
    inContext(({ caller, em }) => {
      authorize(caller, 'documents.write');
      return step(em);
    }),
  );
  const content = new Sniffed(input.source);
  const received = await store
    .receive(content, { purpose: 'documents', maxBytes: Math.max(...Object.values(limits)) })
    .catch((error: unknown) => {
      throw error instanceof TooManyBytes ? tooLarge(Math.max(...Object.values(limits))) : error;
    });
  let used = false;
  try {
    const { head, tail } = content;
    const added = await add(inContext, { ...input, head, tail, received });
    used = !added.replayed;
    return added;
  } finally {
    if (!used) {
      await store.delete(received.key).catch(() => {});
    }
  }
}

async function add(
  inContext: InContext,
  input: UploadContent & { head: Uint8Array; tail: Uint8Array; received: ReceivedBytes },
): Promise<AddedDocument> {
  const { received, head, tail, limits, idempotency } = input;
  if (received.byteSize === 0) {
    throw invalid('content', 'The file is empty.');
  }
  const { filename, declared, metadata } = await input.describe();
  const mediaType = readableType(head, declaredType(declared, filename), tail);
  if (received.byteSize > limits[mediaType]) {
    throw tooLarge(limits[mediaType]);
  }
  const fingerprint = fingerprintOf({ filename, mediaType, metadata, sha256: received.sha256 });
  return inContext((ctx) =>
    addDocument(ctx, {
      collectionId: input.collectionId,
      filename,
      metadata,
      idempotency: idempotency === null ? null : { ...idempotency, fingerprint },
      store: async ({ em, caller }) => ({
        mediaType,
        stored: await PostgresByteStore.within(caller.tenantId, em).finish(received),
      }),
    }),
  );
}

const tooLarge = (maxBytes: number): DomainError =>
  new DomainError('payload_too_large', `The file must have at most ${maxBytes} bytes.`, { param: 'content' });

/** Keeps the first and the last bytes of a stream, and refuses one whose content no description can make readable. */
class Sniffed implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #tail = new LastBytes(sniffedTailBytes);
  head: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  get tail(): Uint8Array {
    return this.#tail.bytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#source) {
      if (this.head.byteLength < sniffedBytes) {
        const rest = piece.subarray(0, sniffedBytes - this.head.byteLength);
        this.head = Buffer.concat([this.head, rest]);
        if (this.head.byteLength >= sniffedBytes) {
          rejectUnreadable(this.head);
        }
      }
      this.#tail.add(piece);
      yield piece;
    }
  }
}
