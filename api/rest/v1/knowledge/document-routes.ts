import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import * as contract from '#api/contract/knowledge.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import { etagOf, isKnown, sendContent } from './send-content.ts';
import { presentDocument } from '#api/present/knowledge.ts';
import { toPage } from '#api/present/page.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { listDocuments } from '#domain/knowledge/collections/list-documents.ts';
import { listPassages } from '#domain/knowledge/collections/list-passages.ts';
import { documentMediaTypes } from '#domain/knowledge/collections/document-status.ts';
import { readContent } from '#domain/knowledge/collections/read-content.ts';
import { readDocument } from '#domain/knowledge/collections/read-document.ts';

const tags = ['Documents'];
const reads = { none: 'reads' };

export async function documentRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

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
        response: { 200: contract.documentContent, 304: contract.unchangedContent, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { space_id: spaceId, collection_id: collectionId, document_id: documentId } = request.params;
      const content = await readContent((work) => request.inContext(spaceId, work), {
        collectionId,
        documentId,
      });
      if (isKnown(content.document, request.headers['if-none-match'])) {
        reply.status(304).header('ETag', etagOf(content.document));
        return null;
      }
      return sendContent(reply, content);
    },
  );

  app.get(
    '/spaces/:space_id/collections/:collection_id/documents/:document_id/passages',
    {
      config: { permission: 'documents.read', audit: reads },
      schema: {
        tags,
        operationId: 'listPassages',
        summary: 'List the passages of a document, in its order',
        params: contract.documentParams,
        querystring: contract.listQuery,
        response: { 200: contract.passagePage, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, collection_id: collectionId, document_id: documentId } = request.params;
      const { limit, cursor } = request.query;
      return toPage(
        await request.inContext(spaceId, (ctx) =>
          listPassages(ctx, { collectionId, documentId, limit, cursor: cursor ?? null }),
        ),
      );
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
}
