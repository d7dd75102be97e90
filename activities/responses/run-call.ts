import { reach } from '#domain/kernel/failpoint.ts';
import type { Metrics } from '#domain/kernel/metrics.ts';
import { runKnowledgeTool } from '#domain/knowledge/knowledge-tool.ts';
import { executionError } from '#domain/responses/call-items.ts';
import { claimCall, type CallClaim, type CallKey, type ClaimedCall } from '#domain/responses/claim-call.ts';
import { commitCall, type CallOutcome } from '#domain/responses/commit-call.ts';
import type { OfferedSearch } from '#domain/responses/response-request.ts';
import type { ResponseStore } from '#domain/responses/response-change.ts';
import { keepAlive } from '../keep-alive.ts';
import { commitSurely } from './commit-surely.ts';
import { restoreArguments, screenKnowledge } from './screen-call.ts';
import { callServer, unknownOutcome, withheld, type ServerCallDependencies } from './call-server.ts';

export interface CallDependencies extends ServerCallDependencies, ResponseStore {
  metrics: Metrics;
}

/** One tool call through the ledger: started is committed before the tool is touched, the outcome once. */
export function runCall(deps: CallDependencies, key: CallKey): Promise<{ outcome: string }> {
  return keepAlive(async () => {
    const claim = await claimCall(deps, key);
    reach('call.after_start');
    if (claim.kind === 'settled') {
      return { outcome: 'settled' };
    }
    const outcome = await settle(deps, claim);
    await commitSurely(() => commitCall(deps, key, outcome));
    reach('call.after_commit');
    const isServers = claim.kind === 'claimed' && claim.call.target.kind === 'mcp';
    deps.metrics.toolCall({ tool: isServers ? 'mcp' : 'knowledge_search', outcome: outcome.outcome });
    return { outcome: outcome.outcome };
  });
}

function settle(
  deps: CallDependencies,
  claim: Exclude<CallClaim, { kind: 'settled' }>,
): Promise<CallOutcome> {
  switch (claim.kind) {
    case 'denied':
      return Promise.resolve({
        outcome: 'denied',
        result: claim.message,
        end: { status: 'failed', error: executionError('missing_permission', claim.message) },
      });
    case 'withheld':
      return Promise.resolve(withheld());
    case 'unknown':
      return Promise.resolve(unknownOutcome());
    case 'claimed': {
      return runClaimed(deps, claim.call);
    }
  }
}

async function runClaimed(deps: CallDependencies, claimed: ClaimedCall): Promise<CallOutcome> {
  const call = await restoreArguments(deps, claimed);
  const { target } = call;
  return target.kind === 'search' ? search(deps, call, target.tool) : callServer(deps, call, target);
}

/** A search reads only, so it may run any number of times. */
async function search(deps: CallDependencies, call: ClaimedCall, tool: OfferedSearch): Promise<CallOutcome> {
  const found = await deps.unitOfWork.inTenant(call.tenantId, (em) =>
    runKnowledgeTool(em, { ...call, tool }),
  );
  const reply = await screenKnowledge(deps, call, found);
  if (reply.failed) {
    const error = executionError('tool_failed', 'The search failed.');
    return { outcome: 'failed', result: reply.text, end: { status: 'failed', error } };
  }
  const results = call.includeResults ? reply.results : null;
  return { outcome: 'succeeded', result: reply.text, end: { status: 'completed', output: '', results } };
}
