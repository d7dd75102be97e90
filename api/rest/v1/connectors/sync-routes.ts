import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connectors.ts';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { presentSyncRun } from '#api/present/connectors.ts';
import { toPage } from '#api/present/page.ts';
import { cancelSync } from '#domain/knowledge/connectors/cancel-sync.ts';
import { listRuns, readRun } from '#domain/knowledge/connectors/find-run.ts';
import { requestSync } from '#domain/knowledge/connectors/request-sync.ts';
import { idempotencyOf } from '../idempotency.ts';
import { audits } from './audits.ts';
import { streamRun, wantsEvents } from './stream-run.ts';

const tags = ['Connectors'];
const all = '/spaces/:space_id/collections/:collection_id/connectors/:connector_id/sync';
const one = `${all}/:sync_id`;

/** Runs of a connector. */
export function syncRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      all,
      {
        preValidation: async (request) => {
          request.body ??= { mode: 'incremental', confirm_deletions: false };
        },
        config: { permission: 'connectors.sync', audit: audits.sync },
        schema: {
          tags,
          operationId: 'requestSync',
          summary: 'Synchronise a connector',
          description:
            'While a run is queued, that run is returned. The body may be left out. A connector that is paused, suspended or being deleted is 409 `invalid_state`.',
          params: contract.connectorParams,
          headers: createHeaders,
          body: contract.requestSyncBody,
          response: { 202: contract.syncRunEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { params, headers, body } = request;
        const { space_id: spaceId, collection_id: collectionId, connector_id: connectorId } = params;
        const path = `/v1/spaces/${spaceId}/collections/${collectionId}/connectors/${connectorId}/sync`;
        const { run, replayed } = await request.inContext(spaceId, (ctx) =>
          requestSync(ctx, {
            collectionId,
            connectorId,
            mode: body.mode,
            confirmDeletions: body.confirm_deletions,
            idempotency: idempotencyOf(headers['idempotency-key'], path, body),
          }),
        );
        if (replayed) {
          reply.header('Idempotent-Replayed', 'true');
        }
        reply.status(202);
        return { data: presentSyncRun(run) };
      },
    );

    app.get(
      all,
      {
        config: { permission: 'connectors.read', audit: audits.reads },
        schema: {
          tags,
          operationId: 'listSyncRuns',
          summary: 'List the runs of a connector, newest first',
          params: contract.connectorParams,
          querystring: listQuery,
          response: { 200: contract.syncRunPage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, collection_id: collectionId, connector_id: connectorId } = request.params;
        const { limit, cursor } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listRuns(ctx, { collectionId, connectorId, limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentSyncRun) });
      },
    );

    app.get(
      one,
      {
        config: { permission: 'connectors.read', streams: true, audit: audits.reads },
        schema: {
          tags,
          operationId: 'getSyncRun',
          summary: 'Read a run of a connector, or follow it',
          description:
            'With `Accept: text/event-stream` the record is sent whenever it has changed, at most once a second, until the run has ended.',
          params: contract.syncParams,
          response: { 200: contract.syncRunEnvelope, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { space_id: spaceId, ...ids } = request.params;
        const ref = { collectionId: ids.collection_id, connectorId: ids.connector_id, runId: ids.sync_id };
        const read = () => request.inContext(spaceId, (ctx) => readRun(ctx, ref));
        const run = await read();
        if (!wantsEvents(request)) {
          return { data: presentSyncRun(run) };
        }
        streamRun(deps, request, reply, { run, read });
        return reply;
      },
    );

    app.post(
      `${one}/cancel`,
      {
        config: { permission: 'connectors.sync', audit: audits.cancel },
        schema: {
          tags,
          operationId: 'cancelSyncRun',
          summary: 'Cancel a run of a connector',
          description:
            'A queued run ends at once, a running one at its next batch of documents; what it has stored stays. A finished run stays as it is.',
          params: contract.syncParams,
          response: { 200: contract.syncRunEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, ...ids } = request.params;
        const ref = { collectionId: ids.collection_id, connectorId: ids.connector_id, runId: ids.sync_id };
        return { data: presentSyncRun(await request.inContext(spaceId, (ctx) => cancelSync(ctx, ref))) };
      },
    );
  };
}
