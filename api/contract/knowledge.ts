import { z } from 'zod';
import { collectionLimits } from '#domain/knowledge/collections/collection-limits.ts';
import {
  documentFailureCodes,
  embeddingFaults,
  documentMediaTypes,
  documentStatuses,
} from '#domain/knowledge/collections/document-status.ts';
import { data, idempotencyKey, page, pageQuery, spaceParams, timestamp, uuid } from './common.ts';

export const collectionParams = spaceParams.extend({ collection_id: uuid });
export const documentParams = collectionParams.extend({ document_id: uuid });

export const listQuery = z.strictObject(pageQuery);
export const createHeaders = z.looseObject({ 'idempotency-key': idempotencyKey.optional() });

export const createCollectionBody = z.strictObject({
  name: z.string().trim().min(1).max(collectionLimits.name),
  description: z.string().max(collectionLimits.description).nullable().optional(),
  text_search_config: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .meta({ description: 'A text search configuration of PostgreSQL; english when left out.' }),
  enforce_source_readers: z.boolean().optional().meta({
    description:
      'Whether searches and reads leave out documents that the caller may not read at their source; false when left out.',
  }),
});

export const updateCollectionBody = z.strictObject({
  name: createCollectionBody.shape.name.optional(),
  description: createCollectionBody.shape.description,
  text_search_config: createCollectionBody.shape.text_search_config.meta({
    description:
      'The language. Each passage is found by the words of the former one until it has been indexed again.',
  }),
  enforce_source_readers: z.boolean().optional().meta({
    description:
      'Whether searches and reads leave out documents that the caller may not read at their source.',
  }),
});

const documentMetadata = z
  .record(z.string().min(1).max(64), z.string().max(512))
  .refine((entries) => Object.keys(entries).length <= 16, 'must have at most 16 entries');

const filename = z.string().trim().min(1).max(collectionLimits.filename);

export const uploadDocumentBody = z.strictObject({
  filename,
  media_type: z.enum(documentMediaTypes),
  content: z
    .string()
    .min(1)
    .max(collectionLimits.contentBytes)
    .meta({ description: `At most ${collectionLimits.contentBytes} bytes of UTF-8.` }),
  metadata: documentMetadata.optional(),
});

/** Fields of a form beside its file. */
export const uploadDocumentFields = z.strictObject({
  filename: filename.optional().meta({ description: 'The name in the file part when left out.' }),
  media_type: z.enum(documentMediaTypes).optional().meta({ description: 'A hint; the content decides.' }),
  metadata: documentMetadata.optional().meta({ description: 'As JSON.' }),
});

/** Of multipart/form-data, with one file. */
export const uploadDocumentForm = uploadDocumentFields.extend({
  file: z.string().meta({ format: 'binary', description: `At most ${collectionLimits.fileBytes} bytes.` }),
});

/** Of an upload whose body is the file. */
export const uploadContentQuery = z.strictObject({ filename });

export const collectionRecord = z
  .strictObject({
    id: uuid,
    space_id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    text_search_config: z.string(),
    enforce_source_readers: z.boolean(),
    created_by: uuid,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Collection' });

const statusCounts = Object.fromEntries(documentStatuses.map((status) => [status, z.int()])) as Record<
  (typeof documentStatuses)[number],
  z.ZodInt
>;

export const countedCollectionRecord = collectionRecord
  .extend({
    statistics: z.strictObject({
      documents: z.strictObject({ total: z.int(), ...statusCounts }),
      chunks: z.int().meta({ description: 'Passages that searches find.' }),
      bytes: z.int().meta({ description: 'Of the original files.' }),
      complete: z
        .boolean()
        .meta({ description: 'False where only the first 100,000 documents were counted.' }),
      language_change: z
        .strictObject({
          former: z.array(z.string()).meta({ description: 'Languages that passages may still be found in.' }),
          chunks_done: z.int(),
          chunks_total: z.int(),
          started_at: timestamp,
        })
        .nullable()
        .meta({ description: 'A change of the language that is under way.' }),
    }),
  })
  .meta({ id: 'CountedCollection' });

export const documentRecord = z
  .strictObject({
    id: uuid,
    collection_id: uuid,
    filename: z.string(),
    media_type: z.enum(documentMediaTypes),
    status: z.enum(documentStatuses),
    failure_code: z.enum(documentFailureCodes).nullable(),
    byte_size: z.int(),
    chunk_count: z.int(),
    embedded_count: z.int().meta({ description: 'Passages that are found by meaning, too.' }),
    embedding_error: z
      .enum(embeddingFaults)
      .nullable()
      .meta({ description: 'Why the model embeds only a part of them.' }),
    content_hash: z.string().meta({ description: 'SHA-256 of the stored content in hex.' }),
    metadata: z.record(z.string(), z.string()),
    created_by: uuid,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Document' });

export const passageRecord = z
  .strictObject({
    position: z.int(),
    heading: z.string().nullable(),
    text: z.string(),
    start: z.int().meta({ description: 'Offsets in the extracted text, in UTF-16 units.' }),
    end: z.int(),
    page: z.int().nullable(),
    anchor: z.string().nullable(),
  })
  .meta({ id: 'Passage' });

export type CountedCollectionRecord = z.infer<typeof countedCollectionRecord>;
export type CollectionRecord = z.infer<typeof collectionRecord>;
export type DocumentRecord = z.infer<typeof documentRecord>;

export const collectionEnvelope = data(collectionRecord);
export const countedCollectionEnvelope = data(countedCollectionRecord);
export const passagePage = page(passageRecord);
export const collectionPage = page(collectionRecord);
export const documentEnvelope = data(documentRecord);
export const documentPage = page(documentRecord);

/** Not JSON: the original bytes. */
export const documentContent = z.string().meta({ format: 'binary' });

/** For `If-None-Match`. */
export const unchangedContent = z.null();
