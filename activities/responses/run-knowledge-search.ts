import {
  parseKnowledgeArguments,
  relevantPassages,
  renderKnowledgeError,
  renderKnowledgeResult,
  toSearchResults,
} from '#domain/knowledge/knowledge-tool.ts';
import { searchKnowledge } from '#domain/knowledge/search-knowledge.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { ClaimedCall } from '#domain/responses/claim-call.ts';
import type { CallOutcome } from '#domain/responses/commit-call.ts';

/** Searches the collections that the response may look into. Reads only, so it may run any number of times. */
export async function runKnowledgeSearch(unitOfWork: UnitOfWork, call: ClaimedCall): Promise<CallOutcome> {
  const parsed = parseKnowledgeArguments(call.arguments);
  if ('error' in parsed) {
    return { outcome: 'failed', result: renderKnowledgeError(parsed.error), results: null };
  }
  const answer = await unitOfWork.inTenant(call.tenantId, (em) =>
    searchKnowledge(em, {
      spaceId: call.spaceId,
      collectionIds: call.tool.collection_ids,
      query: parsed.query,
      limit: call.tool.max_num_results,
      alpha: call.tool.alpha,
    }),
  );
  const passages = relevantPassages(answer);
  return {
    outcome: 'succeeded',
    result: renderKnowledgeResult({ passages, mode: answer.mode, firstLabel: call.firstLabel }),
    results: call.includeResults ? toSearchResults(passages) : null,
  };
}
