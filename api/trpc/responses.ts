import { listResponsesInput } from '#api/contract/procedures.ts';
import { responsePage } from '#api/contract/responses.ts';
import { toPage } from '#api/present/page.ts';
import { listResponses } from '#domain/responses/list-responses.ts';
import { procedure, reads, router } from './trpc.ts';

const own = 'the caller’s own responses';

export const responses = router({
  list: procedure({ permission: 'responses.read', own, audit: reads })
    .input(listResponsesInput)
    .output(responsePage)
    .query(({ ctx: { request }, input }) => {
      const { space_id: spaceId, limit, cursor, status } = input;
      return request
        .inContext(spaceId, (ctx) =>
          listResponses(ctx, { spaceId, limit, cursor: cursor ?? null, status: status ?? null }),
        )
        .then(toPage);
    }),
});
