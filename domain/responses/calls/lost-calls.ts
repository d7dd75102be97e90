import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { recordEvent, type AuditEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

/**
 * Settles started calls whose worker was lost, once no attempt holds them. The effect of a server's tool is unknown,
 * which the event log records; a search has no effect.
 * @param options.evenHeld also those that an attempt holds, since their ledger is deleted
 */
export async function reconcileLostCalls(
  em: EntityManager,
  response: Response,
  options: { evenHeld?: boolean } = {},
): Promise<void> {
  const doneAt = await databaseNow(em);
  const lost = await em.find(ToolCall, {
    responseId: response.id,
    status: 'started',
    ...(options.evenHeld === true ? {} : { $or: [{ leasedUntil: null }, { leasedUntil: { $lt: doneAt } }] }),
  });
  for (const call of lost) {
    call.status = 'done';
    call.doneAt = doneAt;
    call.outcome = call.serverLabel == null ? 'failed' : 'unknown';
    if (call.outcome === 'unknown') {
      await recordEvent(em, await rebuildActor(em, response), unknownEvent(response, call));
    }
  }
  await em.flush();
}

/** The event that a call may have taken effect, once per call. */
export function unknownEvent(
  response: Response,
  call: Pick<ToolCall, 'tool' | 'callId'>,
): AuditEvent & { dedupeKey: string } {
  return {
    type: 'space.tool_outcome_unknown',
    resource: { type: 'response', id: response.id },
    outcome: 'failure',
    metadata: { space_id: response.spaceId, tool: call.tool, call_id: call.callId },
    dedupeKey: `response/${response.id}/${call.callId}/unknown`,
  };
}

/** The event with the outcome of a call that was recorded as unknown. */
export function learnedEvent(
  response: Response,
  call: Pick<ToolCall, 'tool' | 'callId'>,
  outcome: string,
): AuditEvent & { dedupeKey: string } {
  return {
    ...unknownEvent(response, call),
    type: 'space.tool_outcome_learned',
    outcome: 'success',
    metadata: { space_id: response.spaceId, tool: call.tool, call_id: call.callId, tool_outcome: outcome },
    dedupeKey: `response/${response.id}/${call.callId}/learned`,
  };
}
