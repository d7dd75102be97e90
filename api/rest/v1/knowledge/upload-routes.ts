import '#api/plugins/route-config.ts';
import multipart from '@fastify/multipart';
import { validatorCompiler, type ZodTypeProvider } from '@fastify/type-provider-zod';
import type { FastifyInstance } from 'fastify';
import { contentBodyLimit } from '#api/body-limits.ts';
import type { GatewayDependencies } from '#api/compose.ts';
import * as contract from '#api/contract/knowledge.ts';
import { errorResponses } from '#api/contract/common.ts';
import { contentLimitsOf } from '#api/limits/content-limits.ts';
import { UploadPlaces } from '#api/limits/upload-places.ts';
import { withIdleLimit } from '#api/plugins/arrival.ts';
import { presentDocument } from '#api/present/knowledge.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';
import { receiveFile } from './receive-file.ts';
import { openForm } from './upload-form.ts';

const tags = ['Documents'];
const audit = ['collection.documents_added'] as const;
const response = { 200: contract.documentEnvelope, 201: contract.documentEnvelope, ...errorResponses };

/** What a form has beside its file. */
const formOverhead = 1_048_576;

/** In place of a body that the handler reads as a form. */
const form = Object.freeze({});

const exceptForm: typeof validatorCompiler = (route) => {
  const validate = validatorCompiler(route);
  return (data: unknown) => (data === form ? { value: data } : validate(data));
};

/** The uploads of documents: as JSON, in a form, and as a stream. */
export const uploadRoutes = ({ config }: Pick<GatewayDependencies, 'config'>) => {
  const limits = contentLimitsOf(config);
  const places = new UploadPlaces(config);
  const idleMs = config.UPLOAD_IDLE_SECONDS * 1_000;

  const inBodyOrForm = async (instance: FastifyInstance): Promise<void> => {
    await instance.register(multipart, { throwFileSizeLimit: false });
    instance.setValidatorCompiler(exceptForm);
    instance.addHook('preValidation', async (request) => {
      if (request.isMultipart()) {
        request.body = form;
      }
    });
    instance.withTypeProvider<ZodTypeProvider>().post(
      '/spaces/:space_id/collections/:collection_id/documents',
      {
        bodyLimit: contentBodyLimit,
        config: { permission: 'documents.write', audit, takesFile: { form: contract.uploadDocumentForm } },
        schema: {
          tags,
          operationId: 'uploadDocument',
          summary: 'Add a document to a collection',
          description:
            'The document is `processing` until its text has been extracted, then `ready` or `failed`. ' +
            'A text fits in JSON; a file of any supported type is sent as a form, or to `uploadDocumentContent`.',
          params: contract.collectionParams,
          headers: contract.createHeaders,
          body: contract.uploadDocumentBody,
          response,
        },
      },
      async (request, reply) => {
        const { params, headers, body } = request;
        const path = `/v1/spaces/${params.space_id}/collections/${params.collection_id}/documents`;
        const key = headers['idempotency-key'];
        if (request.isMultipart()) {
          const ref = { spaceId: params.space_id, collectionId: params.collection_id };
          const open = (maxBytes: number) => openForm(request, { maxBytes, idleMs });
          const upload = { ref, path, key, limits, overhead: formOverhead, open };
          return receiveFile(request, reply, { places, upload });
        }
        const { document, replayed } = await request.inContext(params.space_id, (ctx) =>
          uploadDocument(ctx, {
            collectionId: params.collection_id,
            filename: body.filename,
            mediaType: body.media_type,
            content: body.content,
            limits,
            metadata: body.metadata ?? {},
            idempotency: idempotencyOf(key, path, body),
          }),
        );
        markCreated(reply, replayed);
        return { data: presentDocument(document) };
      },
    );
  };

  const asStream = async (instance: FastifyInstance): Promise<void> => {
    instance.removeAllContentTypeParsers();
    // Of every type, which is a hint only; the handler reads the body.
    instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
    instance.withTypeProvider<ZodTypeProvider>().post(
      '/spaces/:space_id/collections/:collection_id/documents/content',
      {
        config: { permission: 'documents.write', audit, takesFile: 'stream' },
        schema: {
          tags,
          operationId: 'uploadDocumentContent',
          summary: 'Add a document whose content is the body',
          description: 'The body is the file, byte for byte. `Content-Type` is a hint; the content decides.',
          params: contract.collectionParams,
          headers: contract.createHeaders,
          querystring: contract.uploadContentQuery,
          response,
        },
      },
      async (request, reply) => {
        const { params, headers, query } = request;
        const path = `/v1/spaces/${params.space_id}/collections/${params.collection_id}/documents/content`;
        const declared = request.raw.headers['content-type'];
        const upload = {
          ref: { spaceId: params.space_id, collectionId: params.collection_id },
          path,
          key: headers['idempotency-key'],
          limits,
          overhead: 0,
          open: async () => ({
            source: whole(withIdleLimit(request.raw.iterator({ destroyOnReturn: false }), idleMs)),
            describe: async () => ({ filename: query.filename, declared, metadata: {} }),
          }),
        };
        return receiveFile(request, reply, { places, upload });
      },
    );
  };

  return async (instance: FastifyInstance): Promise<void> => {
    await instance.register(inBodyOrForm);
    await instance.register(asStream);
  };
};

/** The bytes of a request, whose client may leave before the end. */
async function* whole(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    throw error instanceof DomainError
      ? error
      : new DomainError(
          'malformed_http',
          'The request ended before its body was complete.',
          {},
          { cause: error },
        );
  }
}
