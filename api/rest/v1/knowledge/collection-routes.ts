import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import * as contract from '#api/contract/knowledge.ts';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
import { presentCollection, presentCounted } from '#api/present/knowledge.ts';
import { toPage } from '#api/present/page.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { listCollections } from '#domain/knowledge/collections/list-collections.ts';
import { readCollection } from '#domain/knowledge/collections/read-collection.ts';
import { updateCollection } from '#domain/knowledge/collections/update-collection.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Collections'];

export async function collectionRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces/:space_id/collections',
    {
      config: { permission: 'collections.create', audit: ['collection.created'] },
      schema: {
        tags,
        operationId: 'createCollection',
        summary: 'Create a collection of documents',
        params: spaceParams,
        headers: contract.createHeaders,
        body: contract.createCollectionBody,
        response: { 200: contract.collectionEnvelope, 201: contract.collectionEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/collections`;
      const { collection, replayed } = await request.inContext(params.space_id, (ctx) =>
        createCollection(ctx, {
          name: body.name,
          description: body.description ?? null,
          textSearchConfig: body.text_search_config ?? 'english',
          enforceSourceReaders: body.enforce_source_readers ?? false,
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentCollection(collection) };
    },
  );

  app.get(
    '/spaces/:space_id/collections',
    {
      config: { permission: 'collections.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'listCollections',
        summary: 'List the collections of a space, newest first',
        params: spaceParams,
        querystring: contract.listQuery,
        response: { 200: contract.collectionPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listCollections(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentCollection) });
    },
  );

  app.get(
    '/spaces/:space_id/collections/:collection_id',
    {
      config: { permission: 'collections.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'getCollection',
        summary: 'Read a collection with its statistics',
        params: contract.collectionParams,
        response: { 200: contract.countedCollectionEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, collection_id: collectionId } = request.params;
      const counted = await request.inContext(spaceId, (ctx) => readCollection(ctx, { collectionId }));
      return { data: presentCounted(counted) };
    },
  );

  app.patch(
    '/spaces/:space_id/collections/:collection_id',
    {
      config: { permission: 'collections.update', audit: ['collection.updated'] },
      schema: {
        tags,
        operationId: 'updateCollection',
        summary:
          'Change the name, the description, the language or the enforcement of readers of a collection',
        params: contract.collectionParams,
        body: contract.updateCollectionBody,
        response: { 200: contract.collectionEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, collection_id: collectionId } = request.params;
      const {
        text_search_config: textSearchConfig,
        enforce_source_readers: enforceSourceReaders,
        ...change
      } = request.body;
      const collection = await request.inContext(spaceId, (ctx) =>
        updateCollection(ctx, { collectionId, ...change, textSearchConfig, enforceSourceReaders }),
      );
      return { data: presentCollection(collection) };
    },
  );

  app.delete(
    '/spaces/:space_id/collections/:collection_id',
    {
      config: { permission: 'collections.delete', audit: ['collection.deleted'] },
      schema: {
        tags,
        operationId: 'deleteCollection',
        summary: 'Delete a collection with its documents',
        params: contract.collectionParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, collection_id: id } = request.params;
      await request.inContext(spaceId, (ctx) => deleteCollection(ctx, { collectionId: id }));
      return { data: { id, deleted: true as const } };
    },
  );
}
