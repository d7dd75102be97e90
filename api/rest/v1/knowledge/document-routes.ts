import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { contentBodyLimit } from '#api/body-limits.ts';
import type { GatewayDependencies } from '#api/compose.ts';
import * as contract from '#api/contract/knowledge.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import { contentLimitsOf } from '#api/limits/content-limits.ts';
import { sendContent } from './send-content.ts';
import { presentDocument } from '#api/present/knowledge.ts';
import { toPage } from '#api/present/page.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { listDocuments } from '#domain/knowledge/collections/list-documents.ts';
import { documentMediaTypes } from '#domain/knowledge/collections/document-status.ts';
import { readContent } from '#domain/knowledge/collections/read-content.ts';
import { readDocument } from '#domain/knowledge/collections/read-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Documents'];
const reads = { none: 'reads' };

export const documentRoutes =
  ({ config }: Pick<GatewayDependencies, 'config'>) =>
  async (instance: FastifyInstance): Promise<void> => {
    const limits = contentLimitsOf(config);
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/spaces/:space_id/collections/:collection_id/documents',
      {
        bodyLimit: contentBodyLimit,
        config: { permission: 'documents.write', audit: ['collection.documents_added'] },
        schema: {
          tags,
          operationId: 'uploadDocument',
          summary: 'Add a document to a collection',
          description:
            'The document is `processing` until its text has been extracted, then `ready` or `failed`.',
          params: contract.collectionParams,
          headers: contract.createHeaders,
          body: contract.uploadDocumentBody,
          response: { 200: contract.documentEnvelope, 201: contract.documentEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { params, headers, body } = request;
        const path = `/v1/spaces/${params.space_id}/collections/${params.collection_id}/documents`;
        const { document, replayed } = await request.inContext(params.space_id, (ctx) =>
          uploadDocument(ctx, {
            collectionId: params.collection_id,
            filename: body.filename,
            mediaType: body.media_type,
            content: body.content,
            limits,
            metadata: body.metadata ?? {},
            idempotency: idempotencyOf(headers['idempotency-key'], path, body),
          }),
        );
        if (replayed) {
          reply.header('Idempotent-Replayed', 'true');
        }
        reply.status(replayed ? 200 : 201);
        return { data: presentDocument(document) };
      },
    );

    app.get(
      '/spaces/:space_id/collections/:collection_id/documents',
      {
        config: { permission: 'documents.read', audit: reads },
        schema: {
          tags,
          operationId: 'listDocuments',
          summary: 'List the documents of a collection, newest first',
          params: contract.collectionParams,
          querystring: contract.listQuery,
          response: { 200: contract.documentPage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId } = request.params;
        const { limit, cursor } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listDocuments(ctx, { collectionId, limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentDocument) });
      },
    );

    app.get(
      '/spaces/:space_id/collections/:collection_id/documents/:document_id',
      {
        config: { permission: 'documents.read', audit: reads },
        schema: {
          tags,
          operationId: 'getDocument',
          summary: 'Read the state of a document',
          params: contract.documentParams,
          response: { 200: contract.documentEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId, document_id: documentId } = request.params;
        const document = await request.inContext(spaceId, (ctx) =>
          readDocument(ctx, { collectionId, documentId }),
        );
        return { data: presentDocument(document) };
      },
    );

    app.get(
      '/spaces/:space_id/collections/:collection_id/documents/:document_id/content',
      {
        config: { permission: 'documents.read', audit: reads, sendsFile: documentMediaTypes },
        schema: {
          tags,
          operationId: 'getDocumentContent',
          summary: 'Download the original content of a document',
          params: contract.documentParams,
          response: { 200: contract.documentContent, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { space_id: spaceId, collection_id: collectionId, document_id: documentId } = request.params;
        const content = await readContent((work) => request.inContext(spaceId, work), {
          collectionId,
          documentId,
        });
        return sendContent(reply, content);
      },
    );

    app.delete(
      '/spaces/:space_id/collections/:collection_id/documents/:document_id',
      {
        config: { permission: 'documents.delete', audit: ['collection.documents_deleted'] },
        schema: {
          tags,
          operationId: 'deleteDocument',
          summary: 'Delete a document',
          params: contract.documentParams,
          response: { 200: deleted, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId, document_id: documentId } = request.params;
        await request.inContext(spaceId, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
        return { data: { id: documentId, deleted: true as const } };
      },
    );
  };
