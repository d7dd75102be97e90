import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildCaller } from '#domain/access/load-caller.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import { lockHead, publish } from './head.ts';
import type { OfferedTool } from './response-request.ts';
import type { Response } from './response.entity.ts';
import { ToolCall } from './tool-call.entity.ts';
import type { TurnKey } from './turn-claim.ts';

export interface CallKey extends TurnKey {
  callIndex: number;
}

/** A call that may run now. */
export interface ClaimedCall extends CallKey {
  spaceId: string;
  tool: OfferedTool;
  arguments: string;
  idempotencyKey: string;
  firstLabel: number;
  includeResults: boolean;
}

export type CallClaim =
  | { kind: 'settled' }
  /** The caller may no longer: the call ends denied, naming the permission. */
  | { kind: 'denied'; message: string; includeResults: boolean }
  | { kind: 'claimed'; call: ClaimedCall };

/**
 * Moves a planned call to `started`, which is committed before the tool is touched. A search that was started
 * and lost its worker runs again: it reads only.
 */
export async function claimCall(em: EntityManager, key: CallKey): Promise<CallClaim> {
  const head = await lockHead(em, key.responseId);
  const row = await em.findOne(ToolCall, {
    responseId: key.responseId,
    iteration: key.iteration,
    callIndex: key.callIndex,
  });
  if (head === null || head.response.isTerminal || row === null || row.status === 'done') {
    return { kind: 'settled' };
  }
  const { response, now } = head;
  const tool = response.request.tools.find((offered) => offered.name === row.tool);
  if (tool === undefined) {
    throw new Error('A planned call names a tool that was not offered.');
  }
  const includeResults = response.request.include.includes('file_search_call.results');
  const missing = await missingPermission(em, response);
  if (missing !== null) {
    return { kind: 'denied', message: missing, includeResults };
  }
  if (row.status === 'planned') {
    row.status = 'started';
    row.startedAt = now;
    await publish(em, response, [
      { type: 'response.file_search_call.searching', item_id: row.itemId, output_index: row.outputIndex },
    ]);
  }
  return {
    kind: 'claimed',
    call: {
      ...key,
      spaceId: response.spaceId,
      tool,
      arguments: row.arguments,
      idempotencyKey: row.idempotencyKey,
      firstLabel: row.firstLabel,
      includeResults,
    },
  };
}

/** Rights are read again before every call, so that a revocation bites inside a running response. */
async function missingPermission(em: EntityManager, response: Response): Promise<string | null> {
  try {
    const caller = await rebuildCaller(em, response);
    if (caller.granted.has('knowledge.search')) {
      return null;
    }
    await recordEvent(em, caller, {
      type: 'space.tool_blocked',
      resource: { type: 'response', id: response.id },
      outcome: 'denied',
      metadata: { tool: 'knowledge_search', missing_permission: 'knowledge.search' },
      dedupeKey: `response/${response.id}/knowledge_search/blocked`,
    });
    return 'Missing permission knowledge.search in this space.';
  } catch (error) {
    if (error instanceof DomainError) {
      return error.message;
    }
    throw error;
  }
}
