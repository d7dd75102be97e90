import { inspectedResponse } from '#api/contract/administration.ts';
import { inputItemsInput, listResponsesInput, responseInput } from '#api/contract/procedures.ts';
import { inputItemPage, responseDeleted, responseEnvelope, responsePage } from '#api/contract/responses.ts';
import { withFoundNames } from '#api/found-names.ts';
import { presentInspection } from '#api/present/inspection.ts';
import { toPage } from '#api/present/page.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { inspectResponse } from '#domain/responses/read/inspect-response.ts';
import { listInputItems } from '#domain/responses/read/list-input-items.ts';
import { listResponses } from '#domain/responses/read/list-responses.ts';
import { locateResponse } from '#domain/responses/store/locate-response.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { procedure, reads, router } from './trpc.ts';

const own = 'the caller’s own responses';

export const responses = router({
  list: procedure({ permission: 'responses.read', own, audit: reads })
    .input(listResponsesInput)
    .output(responsePage)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, limit, cursor, status } = input;
      const page = await request.inContext(spaceId, (ctx) =>
        listResponses(ctx, { spaceId, limit, cursor: cursor ?? null, status: status ?? null }),
      );
      return toPage(page);
    }),

  inspect: procedure({ permission: 'responses.read', own, audit: reads })
    .input(responseInput)
    .output(inspectedResponse)
    .query(async ({ ctx: { request }, input: { response_id: responseId } }) => {
      const inspected = await request.inContext(
        (em) => locateResponse(em, responseId),
        (ctx) => inspectResponse(ctx, { responseId }),
      );
      return { data: presentInspection(inspected) };
    }),

  inputItems: procedure({ permission: 'responses.read', own, audit: reads })
    .input(inputItemsInput)
    .output(inputItemPage)
    .query(async ({ ctx: { request }, input: { response_id: responseId, limit, cursor } }) => {
      const page = await request.inContext(
        (em) => locateResponse(em, responseId),
        (ctx) => listInputItems(ctx, { responseId, limit, cursor: cursor ?? null }),
      );
      return toPage(page);
    }),

  cancel: procedure({ permission: 'responses.cancel', own, audit: ['space.response_cancelled'] })
    .input(responseInput)
    .output(responseEnvelope)
    .mutation(async ({ ctx: { request }, input: { response_id: responseId } }) => ({
      data: await request.inContext(
        (em) => locateResponse(em, responseId),
        (ctx) => cancelResponse(ctx, { responseId }),
      ),
    })),

  delete: procedure({
    permission: 'responses.delete',
    own,
    audit: ['space.response_deleted', 'space.response_cancelled'],
  })
    .input(responseInput)
    .output(responseDeleted)
    .mutation(async ({ ctx: { request }, input: { response_id: responseId } }) => {
      const { id } = await request.inContext(
        (em) => locateResponse(em, responseId),
        (ctx) => deleteResponse(ctx, { responseId }),
      );
      return { data: { id, object: 'response.deleted' as const, deleted: true as const } };
    }),

  restart: procedure({
    permission: 'responses.create',
    audit: ['space.response_restarted', 'security.pii_detected'],
  })
    .input(responseInput)
    .output(responseEnvelope)
    .mutation(async ({ ctx: { request, deps }, input: { response_id: responseId } }) => {
      const limits = {
        maxActivePerSpace: deps.config.MAX_ACTIVE_RESPONSES_PER_SPACE,
        maxActivePerTenant: deps.config.MAX_ACTIVE_RESPONSES_PER_TENANT,
        retentionSeconds: deps.config.RESPONSE_RETENTION_SECONDS,
      };
      const newId = newResponseId();
      const record = await withFoundNames(
        deps,
        request,
        (em) => locateResponse(em, responseId),
        (ctx, names) => restartResponse(ctx, { responseId }, { newId, limits, names }),
      );
      return { data: record };
    }),
});
