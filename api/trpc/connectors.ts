import { connectionSettings } from '#api/connections.ts';
import { changeConnector, checkConnector, fromBody } from '#api/connectors.ts';
import { deleted } from '#api/contract/common.ts';
import { connectionEnvelope, initiated } from '#api/contract/connections.ts';
import * as contract from '#api/contract/connectors.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentConnection, presentInitiated } from '#api/present/connections.ts';
import {
  presentConnector,
  presentProvider,
  presentSourceDocument,
  presentSyncRun,
} from '#api/present/connectors.ts';
import { toPage } from '#api/present/page.ts';
import { audits, ownProviders } from '#api/rest/v1/connectors/audits.ts';
import { endSourceConnection, initiateSourceConnection, readConnectionOf } from '#api/source-connections.ts';
import { ownPage } from '#domain/capabilities/connections/connection-parts.ts';
import { cancelSync } from '#domain/knowledge/connectors/cancel-sync.ts';
import { createConnector } from '#domain/knowledge/connectors/create-connector.ts';
import { deleteConnector } from '#domain/knowledge/connectors/delete-connector.ts';
import { listConnectors, readConnector } from '#domain/knowledge/connectors/find-connector.ts';
import { listRuns, readRun } from '#domain/knowledge/connectors/find-run.ts';
import { listSourceDocuments } from '#domain/knowledge/connectors/list-source-documents.ts';
import { requestSync } from '#domain/knowledge/connectors/request-sync.ts';
import { procedure, reads, router } from './trpc.ts';

const reading = () => procedure({ permission: 'connectors.read', audit: reads });

const refOf = (input: { collection_id: string; connector_id: string }) => ({
  collectionId: input.collection_id,
  connectorId: input.connector_id,
});
const pageOf = (input: { limit: number; cursor?: string | null | undefined }) => ({
  limit: input.limit,
  cursor: input.cursor ?? null,
});

export const connectors = router({
  providers: procedure({ own: ownProviders, audit: reads })
    .input(inputs.noInput)
    .output(contract.connectorProviderPage)
    .query(({ ctx: { deps } }) =>
      toPage({ items: deps.sources.list().map(presentProvider), nextCursor: null }),
    ),

  check: procedure({ permission: 'connectors.create', audit: audits.check })
    .input(inputs.createConnectorInput)
    .output(contract.checkEnvelope)
    .mutation(async ({ ctx: { request, deps }, input }) => ({
      data: await checkConnector(deps, request, input, input),
    })),

  list: reading()
    .input(inputs.listConnectorsInput)
    .output(contract.connectorPage)
    .query(async ({ ctx: { request }, input }) => {
      const { collection_id: collectionId, status } = input;
      const page = await request.inContext(input.space_id, (ctx) =>
        listConnectors(ctx, { collectionId, status: status ?? null, ...pageOf(input) }),
      );
      return toPage({ ...page, items: page.items.map((each) => presentConnector(each)) });
    }),

  get: reading()
    .input(inputs.connectorInput)
    .output(contract.connectorEnvelope)
    .query(async ({ ctx: { request }, input }) => ({
      data: presentConnector(
        await request.inContext(input.space_id, (ctx) => readConnector(ctx, refOf(input))),
      ),
    })),

  create: procedure({ permission: 'connectors.create', audit: audits.create })
    .input(inputs.createConnectorInput)
    .output(contract.connectorEnvelope)
    .mutation(async ({ ctx: { request, deps }, input }) => {
      const given = { collectionId: input.collection_id, ...fromBody(input), idempotency: null };
      const { connector } = await request.inContext(input.space_id, (ctx) =>
        createConnector(ctx, deps.sources, given),
      );
      return { data: presentConnector(connector) };
    }),

  update: procedure({ permission: 'connectors.update', audit: audits.update })
    .input(inputs.updateConnectorInput)
    .output(contract.connectorEnvelope)
    .mutation(async ({ ctx: { request, deps }, input }) => ({
      data: presentConnector(await changeConnector(deps, request, input, input)),
    })),

  delete: procedure({ permission: 'connectors.delete', audit: audits.delete })
    .input(inputs.deleteConnectorInput)
    .output(contract.connectorEnvelope)
    .mutation(async ({ ctx: { request }, input }) => ({
      data: presentConnector(
        await request.inContext(input.space_id, (ctx) =>
          deleteConnector(ctx, { ...refOf(input), retainDocuments: input.retain_documents }),
        ),
      ),
    })),

  connect: procedure({ permission: 'connectors.update', audit: audits.initiateConnection })
    .input(inputs.initiateSourceConnectionInput)
    .output(initiated)
    .mutation(async ({ ctx: { request, deps }, input: { redirect_uri: given, ...path } }) => {
      const redirectUri = given ?? ownPage(connectionSettings(deps));
      return presentInitiated(await initiateSourceConnection(deps, request, { ...path, redirectUri }));
    }),

  connection: reading()
    .input(inputs.connectorInput)
    .output(connectionEnvelope)
    .query(async ({ ctx: { request, deps }, input }) => ({
      data: presentConnection(await readConnectionOf(deps, request, input)),
    })),

  disconnect: procedure({ permission: 'connectors.update', audit: audits.disconnect })
    .input(inputs.connectorInput)
    .output(deleted)
    .mutation(async ({ ctx: { request, deps }, input }) => {
      await endSourceConnection(deps, request, input);
      return { data: { id: input.connector_id, deleted: true as const } };
    }),

  sync: procedure({ permission: 'connectors.sync', audit: audits.sync })
    .input(inputs.requestSyncInput)
    .output(contract.syncRunEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { mode, confirm_deletions: confirmDeletions } = input;
      const { run } = await request.inContext(input.space_id, (ctx) =>
        requestSync(ctx, { ...refOf(input), mode, confirmDeletions, idempotency: null }),
      );
      return { data: presentSyncRun(run) };
    }),

  listRuns: reading()
    .input(inputs.listSyncRunsInput)
    .output(contract.syncRunPage)
    .query(async ({ ctx: { request }, input }) => {
      const page = await request.inContext(input.space_id, (ctx) =>
        listRuns(ctx, { ...refOf(input), ...pageOf(input) }),
      );
      return toPage({ ...page, items: page.items.map(presentSyncRun) });
    }),

  getRun: reading()
    .input(inputs.syncRunInput)
    .output(contract.syncRunEnvelope)
    .query(async ({ ctx: { request }, input }) => ({
      data: presentSyncRun(
        await request.inContext(input.space_id, (ctx) =>
          readRun(ctx, { ...refOf(input), runId: input.sync_id }),
        ),
      ),
    })),

  cancel: procedure({ permission: 'connectors.sync', audit: audits.cancel })
    .input(inputs.syncRunInput)
    .output(contract.syncRunEnvelope)
    .mutation(async ({ ctx: { request }, input }) => ({
      data: presentSyncRun(
        await request.inContext(input.space_id, (ctx) =>
          cancelSync(ctx, { ...refOf(input), runId: input.sync_id }),
        ),
      ),
    })),

  documents: reading()
    .input(inputs.listSourceDocumentsInput)
    .output(contract.sourceDocumentPage)
    .query(async ({ ctx: { request }, input }) => {
      const page = await request.inContext(input.space_id, (ctx) =>
        listSourceDocuments(ctx, { ...refOf(input), state: input.state ?? null, ...pageOf(input) }),
      );
      return toPage({ ...page, items: page.items.map(presentSourceDocument) });
    }),
});
