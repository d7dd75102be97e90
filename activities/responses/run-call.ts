import { reach } from '#domain/kernel/failpoint.ts';
import type { Metrics } from '#domain/kernel/metrics.ts';
import { runKnowledgeTool } from '#domain/knowledge/knowledge-tool.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { claimCall, type CallKey, type ClaimedCall } from '#domain/responses/claim-call.ts';
import { commitCall, type CallOutcome } from '#domain/responses/commit-call.ts';
import { keepAlive } from '../keep-alive.ts';

export interface CallDependencies {
  unitOfWork: UnitOfWork;
  metrics: Metrics;
}

/** One tool call through the ledger: started is committed before the tool is touched, the outcome once. */
export async function runCall(deps: CallDependencies, key: CallKey): Promise<{ outcome: string }> {
  const { unitOfWork } = deps;
  const beat = keepAlive(new AbortController());
  try {
    const claim = await unitOfWork.inTenant(key.tenantId, (em) => claimCall(em, key));
    reach('call.after_start');
    if (claim.kind === 'settled') {
      return { outcome: 'settled' };
    }
    const outcome = claim.kind === 'denied' ? denied(claim.message) : await execute(unitOfWork, claim.call);
    await unitOfWork.inTenant(key.tenantId, (em) => commitCall(em, key, outcome));
    reach('call.after_commit');
    deps.metrics.toolCall({ tool: 'knowledge_search', outcome: outcome.outcome });
    return { outcome: outcome.outcome };
  } finally {
    beat.stop();
  }
}

function denied(message: string): CallOutcome {
  return { outcome: 'denied', result: message, results: null };
}

/** A search reads only, so it may run any number of times. */
async function execute(unitOfWork: UnitOfWork, call: ClaimedCall): Promise<CallOutcome> {
  const reply = await unitOfWork.inTenant(call.tenantId, (em) => runKnowledgeTool(em, call));
  return {
    outcome: reply.failed ? 'failed' : 'succeeded',
    result: reply.text,
    results: call.includeResults ? reply.results : null,
  };
}
