import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { attributeTo, saveEntries, readMapping } from '#domain/governance/redaction/pii-mapping.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import { recordDetection } from '#domain/governance/redaction/record-detection.ts';
import type { PiiEntry } from '#domain/governance/redaction/redact.ts';

/**
 * Keeps what a running response came upon, before anybody is told the tokens of it: a token that anybody has seen can
 * always be restored. What is known already is not kept again, and stays with those who brought it: a tool that is told
 * somebody's value may say it back to whoever asked for the call.
 */
export async function saveFoundEntries(
  work: { em: EntityManager; secrets: Secrets },
  { tenantId, responseId, redaction }: { tenantId: string; responseId: string; redaction: Redaction },
  found: readonly PiiEntry[],
): Promise<void> {
  const head = await lockHead(work.em, responseId);
  const holder = redaction.holders[0];
  if (head === null || holder === undefined) {
    return;
  }
  const known = await readMapping(work, tenantId, redaction.holders);
  const { response } = head;
  const fresh = found.filter(({ token }) => !known.has(token));
  if (fresh.length === 0) {
    return;
  }
  await saveEntries(work, tenantId, { holder, entries: attributeTo(response.principalId, fresh) });
  const places = await recordDetection(work.em, await rebuildActor(work.em, response), {
    resource: { type: 'response', id: responseId },
    spaceId: response.spaceId,
    dedupeKey: `response/${responseId}/pii`,
    found: fresh,
  });
  const { governance } = response;
  response.governance = { ...governance, redactions: governance.redactions + places };
}
