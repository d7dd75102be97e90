import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { finishResponse } from './finish-response.ts';
import type { Ending } from '#domain/responses/record/response-end.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { writeWithin, type ResponseChange } from '#domain/responses/store/response-change.ts';

/**
 * Ends a response whose claim found that it may not continue, in one transaction with the rest of `change`.
 * @returns false, without writing, if the response has changed since it was read
 */
export async function endClaimed(
  unitOfWork: UnitOfWork,
  change: ResponseChange,
  ending: Ending,
): Promise<boolean> {
  const { tenantId, id } = change.response;
  return unitOfWork.inTenant(tenantId, async (em) => {
    if ((await writeWithin(em, change)) !== 'applied') {
      return false;
    }
    const head = await lockHead(em, id);
    return head !== null && (await finishResponse(em, head.response, head.now, ending));
  });
}
