import { setTimeout as sleep } from 'node:timers/promises';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { Metrics } from '#domain/foundation/kernel/metrics.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';
import type { QuestionAccess } from '#domain/knowledge/search/question-vector.ts';
import { runKnowledgeTool } from '#domain/knowledge/search/knowledge-tool.ts';
import { executionError } from '#domain/responses/store/call-items.ts';
import { callLease, newClaimant, type Claimant } from '#domain/responses/calls/call-lease.ts';
import { claimCall, type CallClaim, type ClaimedCall } from '#domain/responses/calls/claim-call.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import { commitCall, type CallOutcome } from '#domain/responses/calls/commit-call.ts';
import type { OfferedSearch } from '#domain/responses/record/response-request.ts';
import type { ResponseStore } from '#domain/responses/store/response-change.ts';
import { keepAlive } from '../keep-alive.ts';
import { commitWithRetry } from './commit-with-retry.ts';
import { endSessions } from './end-sessions.ts';
import { withCallLease } from './with-call-lease.ts';
import { restoreArguments, screenKnowledge } from './screen-call.ts';
import { callServer, unknownOutcome, withheld, type ServerCallDependencies } from './call-server.ts';

export interface CallDependencies extends ServerCallDependencies, ResponseStore {
  metrics: Metrics;
  /** Omitted: search is by keyword. */
  embedders?: Embedders;
  /** Omitted: no search is reranked. */
  rerankers?: Rerankers;
}

/** Runs one tool call through the ledger: its start is committed before the tool is called, its outcome once. */
export function runCall(deps: CallDependencies, key: CallKey): Promise<{ outcome: string }> {
  return keepAlive(async ({ signal }) => {
    const claimant = newClaimant();
    for (;;) {
      const since = performance.now();
      const claim = await claimWithRetry(deps, key, claimant);
      hitFailpoint('call.after_start');
      if (claim.kind === 'settled') {
        return { outcome: 'settled' };
      }
      const outcome =
        claim.kind === 'held' ? null : await resolveOutcome(deps, claim, { key, claimant, since, signal });
      if (outcome !== null) {
        const isServers = claim.kind === 'claimed' && claim.call.target.kind === 'mcp';
        deps.metrics.toolCall({ tool: isServers ? 'mcp' : 'knowledge_search', outcome: outcome.outcome });
        return { outcome: outcome.outcome };
      }
      // Another attempt holds the call; its outcome is read from the ledger.
      await sleep(callLease.lookEveryMs);
    }
  });
}

/**
 * A claim that may have been committed is retried: giving it up would leave a call that was never sent as unknown.
 */
async function claimWithRetry(deps: CallDependencies, key: CallKey, claimant: Claimant): Promise<CallClaim> {
  const claim = () => claimCall(deps, key, claimant, (server) => deps.toolServers.prepare(server));
  try {
    return await claim();
  } catch (error) {
    if (!claimant.wrote) {
      throw error;
    }
    return commitWithRetry(claim);
  }
}

interface Attempt {
  key: CallKey;
  claimant: Claimant;
  /** Time of the claim's request. */
  since: number;
  signal: AbortSignal;
}

/** @returns null when another attempt holds the call */
async function resolveOutcome(
  deps: CallDependencies,
  claim: Exclude<CallClaim, { kind: 'settled' | 'held' }>,
  { key, claimant, since, signal }: Attempt,
): Promise<CallOutcome | null> {
  const commit = async (outcome: CallOutcome) => {
    const written = await commitWithRetry(() => commitCall(deps, key, outcome, claimant));
    hitFailpoint('call.after_commit');
    if (written === 'late') {
      // The end of the response left its sessions to its last call.
      await endSessions(deps, key);
    }
    return written === 'held' ? null : outcome;
  };
  switch (claim.kind) {
    case 'denied': {
      const error = executionError('missing_permission', claim.message);
      return commit({ outcome: 'denied', result: claim.message, end: { status: 'failed', error } });
    }
    case 'withheld':
      return commit(withheld());
    case 'unknown':
      return commit(unknownOutcome());
    case 'exhausted':
      return commit(failedSearch(JSON.stringify({ error: 'The search failed.' })));
    case 'claimed': {
      const { target } = claim.call;
      if (target.kind === 'search') {
        return commit(await search(deps, await restoreArguments(deps, claim.call), target.tool, signal));
      }
      return withCallLease(deps.database, { key, nonce: claimant.nonce, since }, async (hold) => {
        const call = await commitWithRetry(() => restoreArguments(deps, claim.call));
        const outcome = await callServer(deps, call, target, hold);
        return outcome === null ? null : commit(outcome);
      });
    }
  }
}

/** A search is read-only, so it may be repeated. */
async function search(
  deps: CallDependencies,
  call: ClaimedCall,
  tool: OfferedSearch,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const access: QuestionAccess = {
    principalId: call.principalId,
    inTransaction: (work) => deps.unitOfWork.inTenant(call.tenantId, work),
    embedders: deps.embedders,
    rerankers: deps.rerankers,
    signal,
  };
  const found = await runKnowledgeTool(access, { ...call, tool });
  const reply = await screenKnowledge(deps, call, found);
  if (reply.failed) {
    return failedSearch(reply.text);
  }
  const results = call.includeResults ? reply.results : null;
  return { outcome: 'succeeded', result: reply.text, end: { status: 'completed', output: '', results } };
}

/** @param result for the model */
function failedSearch(result: string): CallOutcome {
  const error = executionError('tool_failed', 'The search failed.');
  return { outcome: 'failed', result, end: { status: 'failed', error } };
}
