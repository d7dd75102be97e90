import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { cancelRunning } from './cancel-response.ts';
import { lockOwn } from '#domain/responses/store/response-access.ts';

/**
 * Makes a response unreadable at once, after cancelling a running one; attached readers still get its end. Its
 * content is purged within a minute; usage and the audit event stay.
 */
export async function deleteResponse(ctx: Context, input: { responseId: string }): Promise<{ id: string }> {
  const { response, now } = await lockOwn(ctx, input.responseId, 'responses.delete');
  await cancelRunning(ctx, response, now);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.response_deleted',
    resource: { type: 'response', id: response.id },
    metadata: { space_id: response.spaceId },
  });
  await ctx.em.flush();
  for (const table of ['response_ids', 'responses']) {
    await ctx.em.execute(`update ${table} set deleted_at = now() where id = ?`, [response.id]);
  }
  return { id: response.id };
}
