import type { EntityManager } from '@mikro-orm/postgresql';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { lockHead } from '#domain/responses/store/head.ts';
import { ResponseChange, writeLocked } from '#domain/responses/store/response-change.ts';
import { attributeTo, saveEntries, readMapping } from '#domain/governance/redaction/pii-mapping.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import { recordDetection } from '#domain/governance/redaction/record-detection.ts';
import type { PiiEntry } from '#domain/governance/redaction/redact.ts';

/**
 * Saves the personal data that a running response found, before its tokens are sent anywhere, so that a token that
 * was ever seen can always be restored. Known values are not saved again and stay attributed to their sources: a tool
 * that receives a person's value may return it to the requester of the call.
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
  const change = new ResponseChange(response);
  const { governance } = response;
  change.response.governance = { ...governance, redactions: governance.redactions + places };
  await writeLocked(work.em, change);
}
