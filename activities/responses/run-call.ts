import { reach } from '#domain/kernel/failpoint.ts';
import type { Metrics } from '#domain/kernel/metrics.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { claimCall, type CallKey } from '#domain/responses/claim-call.ts';
import { commitCall, type CallOutcome } from '#domain/responses/commit-call.ts';
import { keepAlive } from '../keep-alive.ts';
import { runKnowledgeSearch } from './run-knowledge-search.ts';

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
    const outcome =
      claim.kind === 'denied' ? denied(claim.message) : await runKnowledgeSearch(unitOfWork, claim.call);
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
