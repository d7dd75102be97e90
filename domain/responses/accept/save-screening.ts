import type { Context } from '#domain/foundation/access/context.ts';
import type { Governance } from '#domain/responses/record/response-request.ts';
import type { ResolvedRequest } from './resolve-request.ts';
import {
  attributeTo,
  saveEntries,
  readMapping,
  type KnownEntry,
} from '#domain/governance/redaction/pii-mapping.ts';
import type { PiiSettings, Redaction } from '#domain/governance/policy/pii-settings.ts';
import { recordDetection } from '#domain/governance/redaction/record-detection.ts';
import type { ScreenedInput } from './screen-input.ts';

/** Saves the redaction mapping of a response's input. The response's row must exist. */
export async function saveScreening(
  ctx: Context,
  response: { id: string; spaceId: string },
  { redaction, found, inherited }: Omit<ScreenedInput, 'input'>,
): Promise<void> {
  const holder = redaction?.holders[0];
  if (holder === undefined) {
    return;
  }
  const { tenantId, principalId } = ctx.caller;
  const earlier = inherited.map(uncounted);
  await saveEntries(ctx, tenantId, { holder, entries: [...attributeTo(principalId, found), ...earlier] });
  await recordDetection(ctx.em, ctx.caller, {
    resource: { type: 'response', id: response.id },
    spaceId: response.spaceId,
    dedupeKey: `response/${response.id}/pii`,
    found,
  });
}

/** Records in a resolved request the kinds that were searched for and the number of replacements. */
export function noteRedaction(
  resolved: ResolvedRequest,
  { redaction, found }: Pick<ScreenedInput, 'redaction' | 'found'>,
): void {
  if (redaction === null) {
    return;
  }
  resolved.request.redaction = redaction;
  resolved.governance.pii = shownDemand(redaction);
  resolved.governance.redactions = found.reduce(
    (sum, { type, count }) => sum + (type === 'text' ? 0 : count),
    0,
  );
}

/** The demand of the space as the response shows it. */
function shownDemand({ mode, kinds }: PiiSettings): NonNullable<Governance['pii']> {
  return { mode: mode === 'block' ? 'block' : 'redact', kinds };
}

/** Copies the redaction mapping of another response into this one's; the mapping of a thread is shared. */
export async function inheritEntries(
  ctx: Context,
  { holders }: Redaction,
  responseId: string,
): Promise<void> {
  const { tenantId } = ctx.caller;
  if (holders[0] === undefined || 'threadId' in holders[0]) {
    return;
  }
  const entries = [...(await readMapping(ctx, tenantId, holders)).values()];
  await saveEntries(ctx, tenantId, { holder: { responseId }, entries: entries.map(uncounted) });
}

/** Entries of an earlier response stay attributed to their sources and are counted there. */
function uncounted(entry: KnownEntry): KnownEntry {
  return { ...entry, count: 0 };
}
