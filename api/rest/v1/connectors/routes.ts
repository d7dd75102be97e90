import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { changeConnector, fromBody } from '#api/connectors.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connectors.ts';
import { collectionParams, createHeaders } from '#api/contract/knowledge.ts';
import { presentConnector, presentSourceDocument } from '#api/present/connectors.ts';
import { toPage } from '#api/present/page.ts';
import { createConnector } from '#domain/knowledge/connectors/create-connector.ts';
import { deleteConnector } from '#domain/knowledge/connectors/delete-connector.ts';
import { listConnectors, readConnector } from '#domain/knowledge/connectors/find-connector.ts';
import { listSourceDocuments } from '#domain/knowledge/connectors/list-source-documents.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';
import { audits } from './audits.ts';

const tags = ['Connectors'];
const all = '/spaces/:space_id/collections/:collection_id/connectors';
const one = `${all}/:connector_id`;

export function connectorRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      all,
      {
        config: { permission: 'connectors.create', audit: audits.create },
        schema: {
          tags,
          operationId: 'createConnector',
          summary: 'Connect a collection to a source of documents',
          description: 'Its first run begins at once, unless its schedule is `manual`.',
          params: collectionParams,
          headers: createHeaders,
          body: contract.createConnectorBody,
          response: { 200: contract.connectorEnvelope, 201: contract.connectorEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { params, headers, body } = request;
        const path = `/v1/spaces/${params.space_id}/collections/${params.collection_id}/connectors`;
        const { connector, replayed } = await request.inContext(params.space_id, (ctx) =>
          createConnector(ctx, deps.sources, {
            collectionId: params.collection_id,
            ...fromBody(body),
            idempotency: idempotencyOf(headers['idempotency-key'], path, body),
          }),
        );
        markCreated(reply, replayed);
        return { data: presentConnector(connector) };
      },
    );

    app.get(
      all,
      {
        config: { permission: 'connectors.read', audit: audits.reads },
        schema: {
          tags,
          operationId: 'listConnectors',
          summary: 'List the connectors of a collection, newest first',
          params: collectionParams,
          querystring: contract.listConnectorsQuery,
          response: { 200: contract.connectorPage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId } = request.params;
        const { limit, cursor, status } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listConnectors(ctx, { collectionId, status: status ?? null, limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map((each) => presentConnector(each)) });
      },
    );

    app.get(
      one,
      {
        config: { permission: 'connectors.read', audit: audits.reads },
        schema: {
          tags,
          operationId: 'getConnector',
          summary: 'Read a connector',
          params: contract.connectorParams,
          response: { 200: contract.connectorEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId, connector_id: connectorId } = request.params;
        const connector = await request.inContext(spaceId, (ctx) =>
          readConnector(ctx, { collectionId, connectorId }),
        );
        return { data: presentConnector(connector) };
      },
    );

    app.patch(
      one,
      {
        config: { permission: 'connectors.update', audit: audits.update },
        schema: {
          tags,
          operationId: 'updateConnector',
          summary: 'Pause or resume a connector, or change its scope, schedule or credential',
          description:
            'Where it becomes active, or has another scope or credential, the source is checked first: 409 `connector_check_failed` says why it could not be read, and nothing changes.',
          params: contract.connectorParams,
          body: contract.updateConnectorBody,
          response: { 200: contract.connectorEnvelope, ...errorResponses },
        },
      },
      async (request) => ({
        data: presentConnector(await changeConnector(deps, request, request.params, request.body)),
      }),
    );

    app.delete(
      one,
      {
        config: { permission: 'connectors.delete', audit: audits.delete },
        schema: {
          tags,
          operationId: 'deleteConnector',
          summary: 'Delete a connector with its documents, or without',
          description: 'It is `deleting` until its documents are deleted, then unknown.',
          params: contract.connectorParams,
          querystring: contract.deleteConnectorQuery,
          response: { 202: contract.connectorEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { space_id: spaceId, collection_id: collectionId, connector_id: connectorId } = request.params;
        const retainDocuments = request.query.retain_documents === 'true';
        const connector = await request.inContext(spaceId, (ctx) =>
          deleteConnector(ctx, { collectionId, connectorId, retainDocuments }),
        );
        reply.status(202);
        return { data: presentConnector(connector) };
      },
    );

    app.get(
      `${one}/documents`,
      {
        config: { permission: 'connectors.read', audit: audits.reads },
        schema: {
          tags,
          operationId: 'listSourceDocuments',
          summary: 'List the documents of a source as its runs have seen them, the latest found first',
          description: 'Needs `documents.read`, too.',
          params: contract.connectorParams,
          querystring: contract.listSourceDocumentsQuery,
          response: { 200: contract.sourceDocumentPage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId, connector_id: connectorId } = request.params;
        const { limit, cursor, state } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listSourceDocuments(ctx, {
            collectionId,
            connectorId,
            state: state ?? null,
            limit,
            cursor: cursor ?? null,
          }),
        );
        return toPage({ ...page, items: page.items.map(presentSourceDocument) });
      },
    );
  };
}
