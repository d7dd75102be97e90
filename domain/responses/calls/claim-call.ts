import { rebuildCaller } from '#domain/foundation/access/load-caller.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { copyEntity } from '#domain/foundation/persistence/rows.ts';
import { allowsTool } from '#domain/capabilities/skills/allowed-tools.ts';
import { approvedTool, type ApprovedTool } from '#domain/capabilities/tools/approved-tool.ts';
import type { ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import { callLease, isHeld, isLeased, newClaimant, type Claimant } from './call-lease.ts';
import { readCall, type HeadState } from '#domain/responses/prompt/read-turn.ts';
import { ResponseChange, writeChange, type ResponseStore } from '#domain/responses/store/response-change.ts';
import type { OfferedSearch } from '#domain/responses/record/response-request.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import type { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';

/** A call that may run now. */
export interface ClaimedCall extends CallKey {
  /** The requester, for whom the response acts. */
  principalId: string;
  spaceId: string;
  target: CallTarget;
  arguments: string;
  /** Of its output item. */
  itemId: string;
  idempotencyKey: string;
  firstLabel: number;
  includeResults: boolean;
  /** Of a tool server's tool. */
  serverLabel: string | null;
  /** Set if the space requires that personal data is replaced. */
  redaction: Redaction | undefined;
}

export type CallTarget =
  | { kind: 'search'; tool: OfferedSearch }
  | {
      kind: 'mcp';
      serverId: string;
      server: ToolServerSpec;
      tool: string;
      schemaHash: string;
      repeatable: boolean;
      again: boolean;
    };

export type CallClaim =
  | { kind: 'settled' }
  /** The requester lost the permission: the call ends as denied, naming the permission. */
  | { kind: 'denied'; message: string }
  /** Since the offer the tool was disabled, has changed, or now needs approval. It was not called. */
  | { kind: 'withheld' }
  /** Another attempt has started it and is not known to be lost: check again later. */
  | { kind: 'held' }
  /** It was started, its worker was lost, and the tool is not marked as repeatable. */
  | { kind: 'unknown' }
  /** A search that was begun as often as it may be, and never came to an end. */
  | { kind: 'exhausted' }
  | { kind: 'claimed'; call: ClaimedCall };

/** How often a repeatable call is made before its outcome counts as unknown. */
const maxAttempts = 8;
/**
 * How often a search is begun: each may cost its vendors again, and the model can go on without it. A claim is written
 * before each and recognised if its answer was lost, so that an outage of the database counts for none, and a crash of
 * the worker for one.
 */
const maxSearches = 5;

/**
 * Moves a planned call to `started`, committed before the tool is called. A call that was already `started` has lost
 * its worker: a search runs again a few times, since it only reads; a server's tool runs again, with the same key, only
 * if our own record of it says `repeatable`. If the answer to a claim was lost, the claimant recognises its claim:
 * nothing was sent after it.
 * @param prepare awaited before a call is started at a server with a connection
 */
export async function claimCall(
  store: ResponseStore,
  key: CallKey,
  claimant: Claimant = newClaimant(),
  prepare: (server: ToolServerSpec) => Promise<void> = () => Promise.resolve(),
): Promise<CallClaim> {
  for (let isPrepared = false; ;) {
    const { head, call } = await readCall(store.database, key);
    if (head === null || head.response.isTerminal || call === null || call.status === 'done') {
      return { kind: 'settled' };
    }
    const change = new ResponseChange(head.response);
    const tool = call.serverLabel == null ? null : await findTool(store, head.response, call);
    if (call.status === 'planned' && tool?.target.server.connection !== undefined && !isPrepared) {
      // A worker that is lost in here has started nothing.
      await prepare(tool.target.server);
      isPrepared = true;
      continue;
    }
    const { begun } = claimant;
    const claim = decide(key, { head, call, tool, claimant }, change);
    if (claim.kind === 'held') {
      claimant.looks = isLeased(call, head.now) ? 0 : claimant.looks + 1;
    }
    claimant.wrote ||= !change.isEmpty;
    // Another call of the response may have been written meanwhile: then both are read again.
    if (change.isEmpty || (await writeChange(store.database, change)) === 'applied') {
      return claim;
    }
    // Of an earlier write, whose answer was lost.
    claimant.begun = begun;
  }
}

interface Claiming {
  head: HeadState;
  call: ToolCall;
  /** A server's tool; null for a search, and if it differs from the tool that was offered and approved. */
  tool: ApprovedTool | null;
  claimant: Claimant;
}

function decide(key: CallKey, { head, call, tool, claimant }: Claiming, change: ResponseChange): CallClaim {
  const { response } = change;
  const row = copyEntity(call);
  if (isHeld(row, head.now, claimant)) {
    return { kind: 'held' };
  }
  const isSearch = row.serverLabel == null;
  const isOwn = isSearch ? row.attempts === claimant.begun : row.claimNonce === claimant.nonce;
  const again = row.status === 'started' && !(isOwn && row.attempts === 1);
  if (row.serverLabel != null && again && !isOwn && !mayRepeat(tool, row)) {
    return { kind: 'unknown' };
  }
  const missing = missingPermission(head, row, change);
  if (missing !== null) {
    // A permission revoked after the call was sent does not undo the call's effect.
    return again && row.serverLabel != null ? { kind: 'unknown' } : { kind: 'denied', message: missing };
  }
  if (tool !== null && !again && !isInSkill(response, row)) {
    return { kind: 'withheld' };
  }
  if (tool?.requireApproval === true && row.approvalRequestId == null && !again) {
    return { kind: 'withheld' };
  }
  const target =
    tool === null
      ? searchOf(response, row)
      : { kind: 'mcp' as const, ...tool.target, repeatable: tool.repeatable, again };
  if (target === null) {
    return { kind: again ? 'unknown' : 'withheld' };
  }
  if (isSearch && !isOwn && row.attempts >= maxSearches) {
    return { kind: 'exhausted' };
  }
  row.attempts += isOwn ? 0 : 1;
  claimant.begun = isSearch ? row.attempts : null;
  if (row.status === 'planned') {
    row.status = 'started';
    row.startedAt = head.now;
    if (target.kind === 'search') {
      change.publish([
        { type: 'response.file_search_call.searching', item_id: row.itemId, output_index: row.outputIndex },
      ]);
    }
  }
  const lease = { nonce: claimant.nonce, leaseSeconds: callLease.seconds };
  change.step(call, row, target.kind === 'mcp' ? lease : {});
  return {
    kind: 'claimed',
    call: {
      ...key,
      principalId: response.principalId,
      spaceId: response.spaceId,
      target,
      arguments: row.arguments,
      itemId: row.itemId,
      idempotencyKey: row.idempotencyKey,
      firstLabel: row.firstLabel,
      includeResults: response.request.include.includes('file_search_call.results'),
      serverLabel: row.serverLabel ?? null,
      redaction: response.request.redaction,
    },
  };
}

/** Null if the approved definition differs from the one offered to the model, which the call was meant for. */
async function findTool(
  store: ResponseStore,
  response: Response,
  row: ToolCall,
): Promise<ApprovedTool | null> {
  const named = { slug: row.serverLabel ?? '', name: row.toolName ?? '' };
  const tool = await store.unitOfWork.inTenant(response.tenantId, (em) => approvedTool(em, response, named));
  return tool?.target.schemaHash === row.schemaHash ? tool : null;
}

/** An approved call of an earlier response may use a tool that this response's skill does not allow. */
function isInSkill({ request }: Response, row: ToolCall): boolean {
  return request.skill === undefined || allowsTool(request.skill.allowed_tools, row.tool);
}

function mayRepeat(tool: ApprovedTool | null, row: ToolCall): boolean {
  return tool !== null && tool.repeatable && row.attempts < maxAttempts;
}

/** Null for a server's tool, which differs from the offered and approved one. */
function searchOf(response: Response, row: ToolCall): Extract<CallTarget, { kind: 'search' }> | null {
  if (row.serverLabel != null) {
    return null;
  }
  const tool = response.request.tools.find((offered) => offered.type === 'knowledge_search');
  if (tool === undefined) {
    throw new Error('A planned call names a tool that was not offered.');
  }
  return { kind: 'search', tool };
}

/** Permissions are read again before every call, so that a revocation takes effect within a running response. */
function missingPermission(head: HeadState, row: ToolCall, change: ResponseChange): string | null {
  const { response } = head;
  const needed: Permission = row.serverLabel == null ? 'knowledge.search' : 'tools.execute';
  try {
    const caller = rebuildCaller(response, head.requester);
    if (caller.granted.has(needed)) {
      return null;
    }
    change.record(caller, {
      type: 'space.tool_blocked',
      resource: { type: 'response', id: response.id },
      outcome: 'denied',
      metadata: { tool: row.tool, missing_permission: needed },
      dedupeKey: `response/${response.id}/${row.tool}/blocked`,
    });
    return `Missing permission ${needed} in this space.`;
  } catch (error) {
    if (error instanceof DomainError) {
      return error.message;
    }
    throw error;
  }
}
